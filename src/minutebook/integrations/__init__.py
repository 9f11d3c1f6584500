"""Minutebook inside other programs: each module for one framework, each an extra.

- `shelf`: the sessions below a folder, as plain values; what `mcp_server` offers
- `mcp_server`: those as tools of an MCP server
- `openai_agents`: a session of the OpenAI Agents SDK
- `mirror`: a session kept in step with a conversation that a framework holds itself
- `langchain`: a middleware of LangChain over it
- `claude_agent`: where the Claude Agent SDK keeps its transcripts
- `extras`: what is said where a framework is not installed

No module here is imported by another part of minutebook, but for the command `mcp`. Frameworks
are imported where they are used, so each module imports without its framework.
"""
