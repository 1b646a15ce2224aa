/**
 * The editor: a textarea whose text is transparent, over the same text in colours. Both lie in one cell of a grid that scrolls as
 * a whole, so they never drift apart. Selection, undo and assistive technology work as in every textarea.
 */

import { tokensOf } from "./highlight.js";

const INDENT = "    ";
const MOST_UNDONE_LINES = 200;
/** Matches a line that opens a block, after which the next line is indented, unless the block is on the line itself. */
const OPENS_BLOCK =
    /^\s*(?:export\s+)?(?:when|otherwise|each|while|match|is|task|type|enum|try|recover|sandbox|test|serve|route|agent|describe|routes|host|measure|stream|socket)\b(?!.*\bthen\b)/;

/**
 * An error or a warning at a place: 1-based line and column, in code points. Without an end, or with one of 0, it is the word that
 * begins there.
 * @typedef {{line: number, column: number, end_line?: number, end_column?: number, severity?: "error" | "warning"}} Mark
 */

export class Editor {
    #area;
    #lines;
    #numbers;
    #drawn = []; // for each line: its element, and what it was drawn from
    #marks = []; // the marks of all reporters
    #reported = new Map();
    #escaped = false;

    /** `root` holds a textarea, and two elements for the coloured lines and their numbers. */
    constructor(root, onInput) {
        this.#area = root.querySelector("textarea");
        this.#lines = root.querySelector(".lines");
        this.#numbers = root.querySelector(".numbers");
        this.#area.addEventListener("input", () => {
            this.#forget();
            this.#draw();
            onInput();
        });
        this.#area.addEventListener("keydown", (event) => this.#key(event));
        this.#area.addEventListener("blur", () => (this.#escaped = false));
        this.#draw();
    }

    get source() {
        return this.#area.value;
    }

    set source(text) {
        this.#area.value = text;
        this.#forget();
        this.#area.setSelectionRange(0, 0);
        this.#draw();
    }

    /** Underlines the marks of one reporter, instead of its earlier ones, until the text changes. @param {Mark[]} marks */
    mark(reporter, marks) {
        this.#reported.set(reporter, marks);
        this.#marks = [...this.#reported.values()].flat();
        this.#draw();
    }

    #forget() {
        this.#reported.clear();
        this.#marks = [];
    }

    /** Moves the caret to a position and scrolls there. */
    goTo(line, column) {
        const lines = this.source.split("\n");
        const before = lines.slice(0, line - 1).reduce((length, text) => length + text.length + 1, 0);
        const at = Math.min(before + offsetOf(lines[line - 1] ?? "", column), this.source.length);
        this.#area.focus();
        this.#area.setSelectionRange(at, at);
        this.#drawn[line - 1]?.line.scrollIntoView({ block: "nearest", inline: "nearest" });
    }

    #draw() {
        const texts = this.source.split("\n");
        let state = "";
        texts.forEach((text, number) => {
            const marks = this.#marks.filter((mark) => mark.line === number + 1);
            const key = JSON.stringify([state, text, marks]);
            const [tokens, after] = tokensOf(text, state);
            state = after;
            const old = this.#drawn[number];
            if (old?.key !== key) {
                const line = document.createElement("div");
                line.append(...spansOf(tokens, text, marks), "\n");
                this.#drawn[number] = { line, key };
                if (old === undefined) {
                    this.#lines.append(line);
                } else {
                    old.line.replaceWith(line);
                }
            }
        });
        for (const { line } of this.#drawn.splice(texts.length)) {
            line.remove();
        }
        this.#number(texts.length);
    }

    #number(count) {
        for (let have = this.#numbers.childElementCount; have > count; have--) {
            this.#numbers.lastElementChild.remove();
        }
        const more = [];
        for (let have = this.#numbers.childElementCount; have < count; have++) {
            const number = document.createElement("div");
            number.textContent = String(have + 1);
            more.push(number);
        }
        this.#numbers.append(...more);
        for (const number of this.#numbers.querySelectorAll(".wrong, .doubtful")) {
            number.classList.remove("wrong", "doubtful");
        }
        for (const mark of this.#marks) {
            this.#numbers.children[mark.line - 1]?.classList.add(toneOf(mark));
        }
    }

    #key(event) {
        const alone = !event.ctrlKey && !event.metaKey && !event.altKey;
        if (event.key === "Escape") {
            this.#escaped = true; // the next Tab leaves the editor
        } else if (event.key === "Tab" && alone && !this.#escaped) {
            event.preventDefault();
            this.#indent(event.shiftKey);
        } else if (event.key === "Enter" && alone && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            this.#newLine();
        } else if (event.key === "/" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            this.#comment();
        } else if (event.key !== "Shift") {
            this.#escaped = false;
        }
    }

    #newLine() {
        const { value, selectionStart } = this.#area;
        const line = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
        const indent = line.match(/^ */)[0];
        this.#insert(`\n${indent}${OPENS_BLOCK.test(line) ? INDENT : ""}`);
    }

    #indent(less) {
        const { selectionStart, selectionEnd, value } = this.#area;
        if (!less && !value.slice(selectionStart, selectionEnd).includes("\n")) {
            const column = selectionStart - value.lastIndexOf("\n", selectionStart - 1) - 1;
            this.#insert(" ".repeat(INDENT.length - (column % INDENT.length)));
        } else {
            this.#changeLines((line) => (less ? line.replace(/^ {1,4}/, "") : line && INDENT + line));
        }
    }

    #comment() {
        this.#changeLines((line, lines) => {
            const all = lines.every((other) => /^\s*(--|$)/.test(other));
            return all ? line.replace(/^(\s*)-- ?/, "$1") : line.replace(/^(\s*)(?=\S)/, "$1-- ");
        });
    }

    /** Changes the lines of the selection, which stay selected. */
    #changeLines(change) {
        const { value, selectionStart, selectionEnd } = this.#area;
        const start = value.lastIndexOf("\n", selectionStart - 1) + 1;
        const last = selectionEnd > selectionStart && value[selectionEnd - 1] === "\n" ? selectionEnd - 1 : selectionEnd;
        const found = value.indexOf("\n", last);
        const end = found === -1 ? value.length : found;
        const lines = value.slice(start, end).split("\n");
        const changed = lines.map((line) => change(line, lines)).join("\n");
        if (changed !== value.slice(start, end)) {
            const single = selectionStart === selectionEnd;
            this.#area.setSelectionRange(start, end);
            this.#insert(changed);
            const caret = Math.max(start, selectionStart + changed.length - (end - start));
            this.#area.setSelectionRange(single ? caret : start, single ? caret : start + changed.length);
        }
    }

    /** Replaces the selection such that the browser can undo it, unless it has so many lines that this would take seconds. */
    #insert(text) {
        const lines = text.split("\n").length;
        const command = text === "" ? "delete" : "insertText";
        if (lines > MOST_UNDONE_LINES || !document.execCommand(command, false, text)) {
            this.#area.setRangeText(text, this.#area.selectionStart, this.#area.selectionEnd, "end");
            this.#area.dispatchEvent(new Event("input"));
        }
    }
}

/** The position in UTF-16 units of a column in code points. */
function offsetOf(text, column) {
    return [...text].slice(0, column - 1).join("").length;
}

function toneOf({ severity }) {
    return severity === "warning" ? "doubtful" : "wrong";
}

/** The underlined range of a line: up to the end of the mark, or of the line if it continues below; without an end, a word. */
function coverOf(mark, text) {
    const start = Math.min(offsetOf(text, mark.column), Math.max(text.length - 1, 0));
    const word = text.slice(start).match(/^(?:"[^"]*"?|\.?[\p{L}\p{N}_]+|\S|\s)/u)?.[0] ?? "";
    const known = mark.end_line > mark.line ? text.trimEnd().length : mark.end_column > 0 ? offsetOf(text, mark.end_column) : 0;
    return { start, end: known > start ? known : start + word.length, tone: toneOf(mark) };
}

/** The coloured pieces of a line, with marked ones underlined. Where two marks overlap, an error precedes a warning. */
function spansOf(tokens, text, marks) {
    const covered = marks.map((mark) => coverOf(mark, text)).sort((one, other) => (one.tone < other.tone ? 1 : -1));
    const spans = [];
    let at = 0;
    for (const [kind, whole] of tokens) {
        for (let rest = whole; rest !== ""; ) {
            const mark = covered.find(({ start, end }) => start <= at && at < end);
            const borders = covered.flatMap(({ start, end }) => [start, end]).filter((border) => border > at);
            const piece = rest.slice(0, Math.min(...borders.map((border) => border - at), rest.length));
            spans.push(spanOf(kind, piece, mark));
            at += piece.length;
            rest = rest.slice(piece.length);
        }
    }
    if (text === "" && marks.length > 0) {
        spans.push(spanOf("", " ", covered[0]));
    }
    return spans;
}

function spanOf(kind, text, mark) {
    if (kind === "" && mark === undefined) {
        return text;
    }
    const span = document.createElement("span");
    span.className = mark === undefined ? kind : `${kind} mark ${mark.tone}`.trim();
    span.textContent = text;
    return span;
}
