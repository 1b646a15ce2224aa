// Node: cases as JSON on standard input, their answers on standard output. The argument `behind` has a worker answer.
import { readFileSync } from "node:fs";

import { answersOf } from "./answers.js";
import { module } from "./builds.js";

const found = await answersOf(module, JSON.parse(readFileSync(0, "utf8")), process.argv[2] === "behind");
process.stdout.write(JSON.stringify(found));
