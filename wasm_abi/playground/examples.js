/** The menu of examples: each is a program with its settings. */

export const EXAMPLES = [
    { file: "hello.lang", title: "A first look" },
    { file: "shapes.lang", title: "Types and patterns" },
    { file: "money.lang", title: "Money and pipes" },
    { file: "tests.lang", title: "Tests beside the code" },
    { file: "capabilities.lang", title: "Capabilities and a ceiling", ceiling: "stdout,time,random", tab: "audit" },
    { file: "http.lang", title: "Requests that you answer", hooks: { http: "ask" } },
    { file: "model.lang", title: "You are the model", hooks: { llm: "ask" } },
    { file: "memory.lang", title: "A memory", tab: "host" },
    { file: "charts.lang", title: "A page with charts", tab: "request", request: { path: "/report", headers: "Accept: text/html" } },
    { file: "shop.lang", title: "A small shop", tab: "request", request: { path: "/", headers: "Accept: text/html" } },
];
