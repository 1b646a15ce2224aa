/** Syntax highlighting: splits one line of a program into tokens, by words and their context, as an editor's grammar does. */

import {
    BUILTINS, DESCRIBE_CLAUSES, EXPORTABLE, GATE_WORDS, INFIX_WORDS, KEYWORDS, OPERATORS, STARTERS,
} from "./words.js";

const keywords = new Map(Object.entries(KEYWORDS));
const builtins = new Set(BUILTINS);
const starters = new Set(STARTERS);
const exportable = new Set(EXPORTABLE);
const describing = new Set(DESCRIBE_CLAUSES);
const gates = new Set(GATE_WORDS);
const infix = new Set(INFIX_WORDS);

const COMMENT = /--[^\n]*/y;
const NUMBER = /0(?:[xX][0-9A-Fa-f_]+|[oO][0-7_]+|[bB][01_]+)|[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9]+)?(?:d\b)?/y;
const WORD = /[\p{L}_][\p{L}\p{N}_]*/uy;
const TEXT = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?/y;
const OPERATOR = new RegExp(OPERATORS.map((word) => word.replace(/[^\w]/g, "\\$&")).join("|"), "y");
/** After a soft word: an operand, as opposed to what follows a name. */
const OPERAND = /\s+(?!(?:in|and|or|of|is|be|to|as|then|otherwise|with|not\s+in)\b)[\p{L}\p{N}_"'`{]/uy;
const DECLARES = { task: "function", type: "type", enum: "type", agent: "type", require: "type" };

function matched(pattern, line, at) {
    pattern.lastIndex = at;
    return pattern.exec(line)?.[0];
}

/**
 * The tokens `[class, text]` of a line and the state after it. A state is a text: one letter for each template and hole that is
 * open, `t` for the text of a template, a digit for the braces that are open in a hole.
 */
export function tokensOf(line, state = "") {
    const tokens = [];
    const open = [...state];
    let at = 0;
    let before = ""; // the last word or operator
    let first = true;

    const put = (kind, text) => {
        if (text.length > 0) {
            tokens.push([kind, text]);
            at += text.length;
        }
    };

    while (at < line.length) {
        if (open.at(-1) === "t") {
            const end = line.slice(at).search(/[`{\\]/);
            put("string", end === -1 ? line.slice(at) : line.slice(at, at + end));
            if (end === -1) {
                break;
            }
            if (line[at] === "\\") {
                put("escape", line.slice(at, at + 2));
            } else if (line[at] === "{") {
                put("hole", "{");
                open.push("0");
                [before, first] = ["{", false];
            } else {
                put("string", "`");
                open.pop();
                before = '"';
            }
            continue;
        }
        const blank = matched(/\s+/y, line, at);
        if (blank !== undefined) {
            put("", blank);
            continue;
        }
        const rest = matched(COMMENT, line, at);
        if (rest !== undefined) {
            put("comment", rest);
            break;
        }
        const character = line[at];
        if (character === "`") {
            put("string", "`");
            open.push("t");
        } else if (character === '"' || character === "'") {
            for (const [kind, text] of piecesOf(matched(TEXT, line, at))) {
                put(kind, text);
            }
            before = '"';
        } else if (/[0-9]/.test(character)) {
            put("number", matched(NUMBER, line, at));
            before = "0";
        } else {
            const word = matched(WORD, line, at);
            if (word !== undefined) {
                put(kindOf(word, { line, after: at + word.length, before, first }), word);
                before = word;
            } else {
                const sign = matched(OPERATOR, line, at) ?? String.fromCodePoint(line.codePointAt(at));
                if (open.length > 0 && sign === "{") {
                    open[open.length - 1] = String(Number(open.at(-1)) + 1);
                }
                if (open.length > 0 && sign === "}") {
                    const braces = Number(open.at(-1));
                    if (braces === 0) {
                        open.pop();
                        put("hole", sign);
                        continue;
                    }
                    open[open.length - 1] = String(braces - 1);
                }
                put(/^[()[\]{},.:]$/.test(sign) ? "punctuation" : "operator", sign);
                before = sign;
            }
        }
        first = false;
    }
    return [tokens, open.join("")];
}

/** A text literal in pieces, with its escapes separated. */
function piecesOf(text) {
    return text
        .split(/(\\(?:u\{[0-9A-Fa-f]*\}|u[0-9A-Fa-f]{4}|.))/)
        .filter((piece) => piece !== "")
        .map((piece) => [piece.startsWith("\\") ? "escape" : "string", piece]);
}

function kindOf(word, { line, after, before, first }) {
    if (before === ".") {
        return "property";
    }
    if (Object.hasOwn(DECLARES, before)) {
        return DECLARES[before];
    }
    const operand = matched(OPERAND, line, after) !== undefined;
    const next = line.slice(after).trimStart();
    if (first || before === "export") {
        if (word === "export" && exportable.has(next.split(/\s/)[0])) {
            return "keyword";
        }
        if (starters.has(word) && (operand || next === "" || next.startsWith("--"))) {
            return "keyword";
        }
        if (describing.has(word) && next.startsWith(":")) {
            return "keyword";
        }
    }
    const hard = keywords.get(word);
    if (hard !== undefined) {
        return hard;
    }
    if (gates.has(word) && operand) {
        return "keyword";
    }
    if (infix.has(word) && operand && /["\w)\]}]$/.test(before)) {
        return "keyword";
    }
    if (builtins.has(word) && (next.startsWith("(") || before === "|>")) {
        return "builtin";
    }
    return next.startsWith("(") && line[after] === "(" ? "function" : "name";
}
