// What the tests load. Whoever starts them says where that is.
import { readFileSync } from "node:fs";

export const WEB_BUILD = process.env.LANG_WEB_BUILD;
/** A module that traps when a request is longer than 200 bytes, after it has said so. */
export const TRAPPING = process.env.LANG_TRAPPING;

export const bytes = readFileSync(WEB_BUILD);
export const module = new WebAssembly.Module(bytes);
