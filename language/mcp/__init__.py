"""The messages of the Model Context Protocol (MCP), without a transport: the replies of a tool server, for the versions that
begin with ``initialize`` and for the stateless ones.
"""
