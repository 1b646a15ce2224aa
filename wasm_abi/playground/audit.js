/** Declared versus done: what the `require` lines of a program ask for, beside what its audit records say it did. */

/** The capabilities that a source declares, as `{name, scope}`; a scope is the text between the brackets. */
export function declared(source) {
    const found = [];
    for (const line of source.split("\n")) {
        const [, name, scope] = line.match(/^\s*require\s+([\w.]+)\s*\(?\s*("[^"]*"|'[^']*'|\d+)?/) ?? [];
        if (name !== undefined) {
            found.push({ name: name.replaceAll(".", "_"), scope: scope === undefined ? null : scope.replace(/^(["'])(.*)\1$/, "$2") });
        }
    }
    return found;
}

/**
 * One row for each capability and scope: what was declared of it, how often it was granted and denied, and the last reason.
 * `declared` is the text of the `require`, `"default"` for what the runtime grants by itself, or `null`.
 */
export function rowsOf(source, records) {
    const rows = new Map();
    const rowOf = (name, scope) => {
        const key = JSON.stringify([name, scope]);
        if (!rows.has(key)) {
            rows.set(key, { name, scope, declared: null, granted: 0, denied: 0, why: "" });
        }
        return rows.get(key);
    };
    const asked = declared(source);
    const used = new Set();
    for (const { capability, scope, granted, origin, why } of records) {
        if (origin === "runtime" && !granted) {
            continue; // a capability that the ceiling removes at the start, whether the program uses it or not
        }
        const name = capability.replaceAll(".", "_");
        const row = rowOf(name, scope);
        row[granted ? "granted" : "denied"] += 1;
        row.why = why;
        const match = asked.find((item) => item.name === name && item.scope === scope) ?? asked.find((item) => covers(item, name, scope));
        if (match !== undefined) {
            used.add(match);
            row.declared = textOf(match);
        } else if (origin === "runtime" && granted) {
            row.declared ??= "default";
        }
    }
    for (const item of asked) {
        if (!used.has(item)) {
            rowOf(item.name, item.scope).declared = textOf(item);
        }
    }
    return [...rows.values()];
}

/** Whether a `require` covers a request: without a scope every one, and `*` in a scope matches any text. */
function covers(item, name, scope) {
    if (item.name !== name) {
        return false;
    }
    if (item.scope === null || scope === null) {
        return true;
    }
    const pattern = item.scope.split("*").map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${pattern.join(".*")}$`).test(scope);
}

function textOf({ name, scope }) {
    return scope === null ? name : `${name}(${/^\d+$/.test(scope) ? scope : JSON.stringify(scope)})`;
}
