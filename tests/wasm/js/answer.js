// Node: cases as JSON on standard input, their answers on standard output.
import { readFileSync } from "node:fs";

import { answersOf } from "./answers.js";
import { module } from "./builds.js";

const found = await answersOf(module, JSON.parse(readFileSync(0, "utf8")));
process.stdout.write(JSON.stringify(found));
