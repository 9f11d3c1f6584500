// Looks now and then whether what the page shows has changed. A page whose parts are marked
// data-live gets them anew in place; any other one says so and has a link.
"use strict";
(() => {
  const body = document.body;
  const address = body.dataset.state;
  if (!address) return;
  let stamp = body.dataset.stamp;
  const pause = 3000;

  const say = () => {
    const news = document.getElementById("news");
    if (news.firstChild) return;
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = news.dataset.link;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      location.reload();
    });
    news.append(news.dataset.text + " ", link);
  };

  const renew = async () => {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const other = fresh.getElementById(part.id);
      // What a person writes or has unfolded just now stays as it is.
      const busy = part.contains(document.activeElement);
      if (busy) say();
      else if (other) part.replaceWith(document.adoptNode(other));
    }
  };

  const look = async () => {
    try {
      if (!document.hidden) {
        const answer = await fetch(address);
        if (answer.ok) {
          const now = (await answer.json()).stamp;
          if (now !== stamp) {
            stamp = now;
            if (document.querySelector("[data-live]")) await renew();
            else say();
          }
        }
      }
    } catch {
      // The viewer has been stopped; the next look tells.
    }
    setTimeout(look, pause);
  };
  setTimeout(look, pause);
})();
