"""The messages of the Model Context Protocol, without a transport: the replies of a tool server, in both eras of the
protocol.
"""
