"""How servers say that a request is too large, and what only sounds like it. A table, pure.

The forms are those of the servers' own code and answers; the names say whose. Wordings
change without notice, so what is matched is the core of each, not the sentence. `overflow`
reads this table; patterns are compiled when one is needed, and take no notice of case.
"""

from __future__ import annotations

OVERFLOW_CODES = frozenset(
    (
        "context_length_exceeded",  # OpenAI, Azure, Groq, Cerebras, DeepSeek
        "contextwindowexceedederror",  # LiteLLM, the class of its error
        "context_window_exceeded",
        "exceed_context_size_error",  # llama.cpp
        "model_context_window_exceeded",  # Anthropic's and Z.ai's reason to end
        "model_max_prompt_tokens_exceeded",  # GitHub Copilot
        "invalid_request_prompt",  # Mistral
        "1261",  # Zhipu
    )
)
"""Codes, types and class names, in lower case, that mean too many tokens."""

RATE_CODES = frozenset(
    (
        "rate_limit_error",  # Anthropic
        "rate_limit_exceeded",  # OpenAI, Groq
        "ratelimiterror",  # LiteLLM, and the SDKs' class
        "resource_exhausted",  # Gemini
        "throttlingexception",  # Bedrock
        "throttled",
        "too_many_requests",
        "toomanyrequestsexception",
        "rate_limit_reached_error",  # Moonshot
        "engine_overloaded_error",
    )
)

ACCESS_CODES = frozenset(
    (
        "authentication_error",
        "authenticationerror",
        "invalid_api_key",
        "permission_error",
        "permission_denied",
        "permissiondeniederror",
        "accessdeniedexception",
        "unauthenticated",
        "unrecognizedclientexception",
        "insufficient_quota",
        "exceeded_current_quota_error",
        "billing_error",
        "billing_hard_limit_reached",
        "insufficient_balance",
        "model_not_found",
        "not_found_error",
        "notfounderror",
        "resourcenotfoundexception",
    )
)
"""A person has to act: a key, money, a model's name. Waiting changes nothing."""

BODY_CODES = frozenset(
    (
        "request_too_large",  # Anthropic
        "requesttoolargeerror",
        "contenttoolargeerror",
        "payload_too_large",
        "string_above_max_length",  # OpenAI
        "image_too_large",
        "request_entity_too_large",
    )
)

TRANSIENT_CODES = frozenset(
    (
        "overloaded_error",  # Anthropic
        "overloadederror",
        "api_error",
        "server_error",
        "internal_error",
        "internalservererror",
        "internalserverexception",
        "serviceunavailableexception",
        "serviceunavailableerror",
        "modelnotreadyexception",
        "modeltimeoutexception",
        "unavailable",  # Gemini, this and those below
        "deadline_exceeded",
        "internal",
        "timeout",
        "timeouterror",
        "timeoutexception",
        "readtimeout",
        "connecttimeout",
        "writetimeout",
        "pooltimeout",
        "apitimeouterror",
        "apiconnectionerror",
        "connectionerror",
        "connecterror",
        "readerror",
        "writeerror",
        "remoteprotocolerror",
        "networkerror",
        "transporterror",
        "timeout_error",
    )
)

OVERFLOW_TEXTS = (
    # Anthropic: prompt is too long: 213462 tokens > 200000 maximum; Ollama; Fireworks
    r"\b(?:prompt|input|request|messages?) (?:is |are )?too long\b(?!.{0,30}\bcharacters\b)",
    # Anthropic: input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000
    r"\binput (?:length )?(?:and|plus) .?max_tokens.? (?:exceeds?|over) (?:the )?context",
    # OpenAI, Azure, DeepSeek, OpenRouter, vLLM, SGLang: … maximum context length is 8192
    r"\bmaximum context (?:length|window|size)\b",
    r"\bmaximum prompt length is\b",  # xAI
    # OpenAI Responses: Your input exceeds the context window of this model
    r"\bexceed(?:s|ed|ing)?\b.{0,60}\bcontext (?:window|length|size|limit)\b",
    r"\bcontext (?:window|length|size|limit) (?:was |is |has been )?exceed",
    r"\bcontext (?:window|length) exceeds limit\b",  # MiniMax
    r"\btoo (?:much|large|long|many|big)\b.{0,40}\bcontext (?:window|length|size)\b",
    r"\btoo much input for this (?:window|model)\b",
    # Gemini: The input token count (1200345) exceeds the maximum number of tokens allowed
    r"\binput token count\b.{0,40}\b(?:exceeds|is)\b.{0,60}\b(?:maximum|supports? up to)\b",
    r"\binput tokens? (?:length )?exceeds?\b|\binput tokens exceeded\b",
    r"\btoo many input tokens\b",  # Bedrock
    r"\bnumber of input tokens exceeds\b",  # Bedrock
    r"\bprompt token count of\b.{0,20}\bexceeds the limit\b",  # GitHub Copilot
    # vLLM: You passed 32769 input tokens …; The decoder prompt (length 9000) is longer than
    r"\bcontext length is only\b",
    r"\bprompt \(?(?:of )?length\b.{0,20}\b(?:is longer than|exceeds)\b",
    r"\blonger than the (?:maximum model length|model'?s context length)\b",
    r"\bmax_model_len\b",
    # vLLM, before it checked: the room left for the reply is negative
    r"\bmax_tokens must be at least 1, got -\d",
    # llama.cpp, LM Studio
    r"\bavailable context size\b|\bconfigured context size\b",
    r"\bcontext length of only\b|\bgreater than the context length\b",
    r"\bcontext the overflows\b|\bcontext overflow\b",
    # Mistral: … too large for model with 32768 maximum context length
    r"\btoo large for model with\b",
    r"\bexceeded model token limit\b",  # Moonshot
    r"\btotal message size\b.{0,30}\bexceeds limit\b",  # Moonshot
    r"\brange of input length should be\b",  # DashScope
    r"\bprompt exceeds max length\b",  # Zhipu
    r"\breduce the length of (?:the|your) (?:messages|prompt|input)\b",  # Groq, Cerebras
    r"\btotal number of tokens in the prompt cannot exceed\b",  # Cohere
    r"\binputs?.? tokens \+ .?max_new_tokens.? must be <=",  # Text Generation Inference
    r"\bmore tokens than (?:the )?max(?:imum)? tokens allowed\b",
    r"\b(?:context_length_exceeded|exceed_context_size_error)\b",
    r"\bcontextwindowexceedederror\b",
    r"\blong context (?:beta|requests?)\b",  # Anthropic, of accounts without the large window
    r"超过.{0,12}(?:最大)?(?:上下文|输入)长度|上下文长度超",
)
"""What means: too many tokens, counted with or without the room for the reply."""

OUTPUT_TEXTS = (
    # Anthropic: max_tokens: 999999 > 16384, which is the maximum allowed number of output
    r"\bmaximum allowed number of output tokens\b",
    # OpenAI: max_tokens is too large: 99999. This model supports at most 16384 completion
    r"\bat most \d[\d,]* (?:completion|output) tokens\b",
    # Bedrock: The maximum tokens you requested exceeds the model limit of 4096
    r"\bmaximum tokens you requested exceeds? the model limit\b",
    r"\bmax_(?:completion_|output_)?tokens\b.{0,60}\b(?:too large|not allowed|must be)\b",
    r"\bmax_(?:completion_|output_)?tokens\b.{0,60}\b(?:cannot exceed|exceeds? the limit)\b",
)
"""What means: the reply may not be allowed so much, whatever the request's size."""

BODY_TEXTS = (
    r"\b(?:request|body|payload)\b.{0,40}\b(?:size|bytes)\b.{0,40}\b(?:limit|maximum|exceed)",
    r"\bover the size limit\b|\bexceeds the maximum (?:allowed )?(?:size|number of bytes)\b",
    r"\b(?:request|payload|entity|content) too large\b",
    r"\b(?:image|picture|file|pdf|document)s?\b.{0,40}\bexceeds?\b.{0,20}\b(?:MB|bytes|size|max)",
    r"\bimage dimensions exceed\b|\bmaximum of \d+ (?:PDF )?pages\b",
    r"\btoo many (?:images|pages)\b",
    r"\bstring too long\. Expected a string with maximum length\b",  # OpenAI
    r"\bexpected maxLength: \d+, actual: \d+",  # Bedrock, in characters
    r"\btoo many (?:total text )?bytes\b|\bsent message larger than max\b",
)
"""What means: too many bytes, characters, pictures or pages; tokens are another matter."""

RATE_TEXTS = (
    r"\brate[ _-]?limit",
    r"\btokens? per (?:min|minute|day|hour)\b|\(TP[MD]\)|\btokens a minute\b",
    r"\btoo many (?:requests|tokens, please wait)\b",
    r"\bquota exceeded\b|\bresource (?:has been )?exhausted\b",
    r"\bthrottl",
)

ACCESS_TEXTS = (
    # Anthropic's SDK, before it asks anybody
    r"\bcould not resolve authentication\b|\bmissing credentials\b",
    r"\b(?:invalid|incorrect|missing|no) (?:x-)?api[ _-]?key\b",
    r"\bapi[ _-]?key (?:is |was )?(?:missing|invalid|incorrect|required|not (?:valid|found))\b",
    r"\bexceeded your current quota\b|\bcredit balance is too low\b|\binsufficient balance\b",
)
"""What means that a person has to act, where no code says so."""

HISTORY_TEXTS = (
    r"\btool_(?:use|result|calls?|call_id)s?\b",
    r"\bfunction (?:call|response) (?:turn|parts?)\b|\bno tool (?:call|output) found\b",
    r"\broles? must alternate\b|\bmust alternate between\b|\bfirst message must\b",
    r"\b(?:text )?content blocks must\b|\bnon-empty content\b|\bfinal assistant content\b",
    r"\b(?:invalid|missing).{0,20}\bsignature\b.{0,30}\bthinking\b",
    r"\bthinking\b.{0,60}\b(?:cannot be modified|signature|expected)\b",
    r"\bwithout its required (?:following|preceding) item\b",
    r"\breasoning_content\b.{0,40}\bmissing\b",
)

TRANSIENT_TEXTS = (
    r"\bcontext (?:canceled|cancelled|deadline exceeded)\b",
    r"\btimed? ?out\b|\btimeout\b",
    r"\boverloaded\b|\bat capacity\b|\btemporarily unavailable\b|\bservice unavailable\b",
    r"\bconnection (?:error|reset|refused|closed|aborted)\b|\bserver disconnected\b",
    r"\bbad gateway\b|\binternal server error\b|\bupstream\b|\bincomplete chunked read\b",
)

Numbers = tuple[tuple[tuple[str, ...], str], ...]
"""What the numbers of a pattern are, and the pattern, in which N stands for each of them."""

NUMBERS: Numbers = (
    (("input", "output", "window"), r"N \+ N > N"),
    (("input", "window"), r"N tokens > N\b"),
    (("input",), r"\bN(?: tokens)? (?:in the messages|in (?:your|the) prompt|of text input)"),
    (("input",), r"\bN(?: tokens)? (?:from the input messages|input\b)"),
    (("input",), r"\binput is (?:at least )?N tokens"),
    (("input",), r"\binput token count:?(?: is)? \(?N"),
    (("input",), r"\b(?:prompt|input|request)(?: is)? too (?:long|large):? \(?N"),
    (("input",), r"\bprompt(?: token count of| contains| has|,? \(?(?:of )?length:?) N"),
    (("input",), r"\b(?:input|request) (?:length )?\(?N(?: tokens)?\)? (?:is longer|exceeds)"),
    (("input",), r"\brequest contains N\b|\bcurrent length is N"),
    (("input",), r"\bresulted in N\b"),
    (("input",), r"\bgiven: N .?inputs"),
    (("input",), r"\breceived N\b"),
    (("input",), r"\bn_prompt_tokens\W+N"),
    (("output",), r"\bN(?: tokens)? (?:(?:in|for) the (?:completion|output)|output\b)"),
    (("output",), r"\boutput tokens asked for: N"),
    (("output",), r"\bmax_completion_tokens.? is too large: N"),
    (("output",), r"\bN .?max_new_tokens"),
    (("total",), r"\brequested:? (?:a total of |about )?N(?! output)"),
    (("total",), r"\bbut N (?:tokens )?were asked for"),
    (("excess",), r"\bexceeded (?:max )?context length by N"),
    (("excess",), r"\bmax_tokens must be at least 1, got -N"),
    (("window",), r"\bwith N maximum context length"),
    (
        ("window",),
        r"\bcontext (?:length|size|window)(?: of (?:this|the) model)?(?: is| of|:)? \(?N",
    ),
    (("window",), r"\bcontext length is only N"),
    (("window",), r"\bmaximum number of tokens(?: allowed)? \(?N"),
    (("window",), r"\bmaximum prompt length is N|\bmaximum(?: is|:) N|\bsupports up to N"),
    (("window",), r"\bmax(?:imum)? (?:model|input) (?:length|tokens)(?: of|:) N"),
    (("window",), r"\bmax_model_len\W+(?:of )?N"),
    (("window",), r"\btoken limit: N|\bexceeds (?:the )?limit(?: of)? N|\blimit is N"),
    (("window",), r"\bcannot exceed N|\bmust be <= N|\[\d, ?N\]"),
    (("window",), r"\bn_ctx\W+N"),
)
"""Where the numbers of an overflow stand; of each kind the first that is found counts.

`input` is the request as the server counts it, `output` the room asked for the reply, `total`
both, `window` what the model takes, `excess` by how much it is too much.
"""

RATE_NUMBERS: Numbers = (
    # OpenAI and Groq: Limit 30000, Used 28000, Requested 4000
    (("limit", "input"), r"\blimit:? N, (?:used:? \d[\d,]*, )?requested:? N"),
    # Anthropic: your organization's rate limit of 40,000 input tokens per minute
    (("limit",), r"\blimit of N (?:input |output )?tokens (?:per|a) "),
)
"""Where the numbers of a rate limit stand: `limit` is what may be sent in its time."""
