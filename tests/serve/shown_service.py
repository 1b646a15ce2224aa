"""The service whose pages are looked at: in the tests in a browser, and in the pictures of the manual."""

from __future__ import annotations

SOURCE = """intent: "Pens, ink and paper"
require serve(8080)

task who(token)
    when token == "s3cret"
        give {"id": "ann"}
    give nothing

let sales be [
    {"month": "Jan", "paper": 12, "ink": 8},
    {"month": "Feb", "paper": 15, "ink": 9},
    {"month": "Mar", "paper": 9, "ink": 12},
    {"month": "Apr", "paper": 20, "ink": 14}
]

let numbers be `
| Month | Paper | Ink | |
| --- | ---: | ---: | --- |
| January | 12 | 8 | a slow start after the holidays |
| February | 15 | 9 | |
| March | 9 | 12 | the supplier changed its sizes |
| April | 20 | 14 | |
`

serve on 8080
    auth with who
    describe
        about: "Pen shop"
        version: "1.2.0"
        api: ["GET /report - the sales of the year so far", "POST /pens - adds a pen to the shop", "Prices are in euro."]
    route "GET /report"
        give content(page([
            heading(1, "Sales of the first months"),
            prose("Ink has its best quarter so far. Paper fell in March and rose to a new high in April."),
            chart("bar", sales, {"x": "month", "y": ["paper", "ink"], "title": "Sales", "y_label": "thousand EUR"}),
            heading(2, "The numbers"),
            raw(markdown(numbers)),
            list(["All numbers are before tax.", link("Where they come from", "/sources")])
        ], {"title": "Report", "description": "Sales of the first months"}))
    route "GET /pens/:id"
        give {"pen": params.id, "colour": get(query, "colour", "blue"), "price": decimal("12345678901234567890.50")}
    route "POST /pens" requires auth
        expect body {name: text, price: decimal, tags: optional list}
        give created({"by": request.user.id, "name": request.json.name})
    route "POST /uploads"
        expect form {title: text, tags: list, file: map}
        give {"title": request.form.title, "tags": request.form.tags, "bytes": length(request.form.file.data)}
    route "GET /hostile"
        give html("<b>bold</b>")
    route "GET /ticks"
        stream
            each n in range(3)
                send {"n": n} as "tick"
    route "GET /echo"
        socket
            while true
                let got be ws_recv(socket, 60)
                when got == nothing or got.type == "close"
                    give nothing
                ws_send(socket, got.data)
"""
