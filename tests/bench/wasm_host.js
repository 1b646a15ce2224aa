// What `wasm.py` measures in Node, as JSON in milliseconds. `answer` and `pyodide` are whole processes, timed from outside.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

import { Lang } from "../../wasm_abi/js/lang.js";

const [mode, module, program] = process.argv.slice(2);
const source = () => readFileSync(program, "utf8");
const timed = async (body) => {
    const started = performance.now();
    const result = await body();
    return [performance.now() - started, result];
};

if (mode === "nothing") {
    console.log("");
} else if (mode === "answer") {
    const lang = await (await Lang.load(module)).ready();
    console.log(lang.run(source()).output.at(-1));
} else if (mode === "pyodide") {
    // `module` is the folder where npm has put it.
    const place = createRequire(pathToFileURL(`${module}/`)).resolve("pyodide/pyodide.mjs");
    const { loadPyodide } = await import(pathToFileURL(place));
    const python = await loadPyodide();
    console.log(String(python.runPython(`${source()}\nmain()`)));
} else {
    const [compile, lang] = await timed(() => Lang.load(module));
    const [instantiate] = await timed(() => lang.ready());
    const [first] = await timed(() => lang.run("print(1)"));
    const times = [];
    for (let round = 0; round < 300; round++) {
        times.push((await timed(() => lang.run("print(1)")))[0]);
    }
    const steady = times.sort((a, b) => a - b)[150];
    // V8 does not replace code that is running: the first long call is slow, and says so in the table of whole processes.
    await timed(() => lang.run(source()));
    const [run] = await timed(() => lang.run(source()));
    const [parse] = await timed(() => lang.check(readFileSync(process.argv[5], "utf8")));
    console.log(JSON.stringify({ compile, instantiate, first, steady, run, parse }));
}
