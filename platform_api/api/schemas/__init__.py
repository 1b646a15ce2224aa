"""The shapes of requests and answers, a module a subject. The OpenAPI document is made of them."""
