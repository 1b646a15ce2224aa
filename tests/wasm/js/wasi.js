// The wasip1 build under Node's WASI: `{module, words, env, folder, refused, broken}` as JSON in the first argument. What `refused`
// names answers ENOSYS, as runtimes do that lack it; what `broken` names throws, as a runtime does that ends.
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";

const ENOSYS = 52;
const { module, words, env, folder, refused = [], broken = [] } = JSON.parse(process.argv[2]);
const wasi = new WASI({ version: "preview1", args: ["lang", ...words], env, preopens: folder ? { ".": folder } : {}, returnOnExit: true });
const functions = { ...wasi.wasiImport };
for (const name of refused) {
    functions[name] = () => ENOSYS;
}
for (const name of broken) {
    functions[name] = () => {
        throw new Error(`${name} is broken`);
    };
}
const { instance } = await WebAssembly.instantiate(readFileSync(module), { wasi_snapshot_preview1: functions });
process.exitCode = wasi.start(instance);
