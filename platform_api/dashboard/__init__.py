"""The dashboard: pages made on the server by the operations of the API. They work without a script; one keeps them live."""
