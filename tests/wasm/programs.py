"""Programs that several tests here run."""

#: Case 11-5 of the manual; more routes can follow.
HELLO = """require serve(8080)
let hits be 0
serve on 8080
    route "GET /hello/:name"
        set hits to hits + 1
        print("served " + params.name)
        give {"hi": params.name, "hits": hits, "total": state_incr("total")}
"""
