"""The Model Context Protocol as messages, without a transport: what a server of tools answers, in both eras of the protocol."""
