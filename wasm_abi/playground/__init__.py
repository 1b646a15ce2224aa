"""The playground: a static page that runs programs in the browser, and a server for it."""
