/** Questions of a running program, one below the other. The program waits until the user answers. */

export class Questions {
    #root;

    constructor(root) {
        this.#root = root;
    }

    /**
     * Shows a question and promises the values of its fields, or `null` when the user refuses (where there is a `refusal`).
     * @param {{title: string, text: string, fields: {name: string, label: string, value?: string, rows?: number}[], refusal?: string}} question
     */
    ask({ title, text, fields, refusal }) {
        return new Promise((resolve) => {
            const form = document.createElement("form");
            form.className = "question";
            const heading = document.createElement("h2");
            heading.textContent = title;
            form.append(heading);
            if (text !== "") {
                const shown = document.createElement("pre");
                shown.textContent = text;
                form.append(shown);
            }
            const parts = fields.map((field) => fieldOf(field));
            form.append(...parts.map(({ label }) => label));
            const row = document.createElement("div");
            row.className = "row";
            row.append(buttonOf("Answer", "submit", "primary"));
            const done = (values) => {
                form.remove();
                resolve(values);
            };
            if (refusal !== undefined) {
                const button = buttonOf(refusal, "button", "");
                button.addEventListener("click", () => done(null));
                row.append(button);
            }
            form.append(row);
            form.addEventListener("submit", (event) => {
                event.preventDefault();
                done(Object.fromEntries(parts.map(({ name, input }) => [name, input.value])));
            });
            form.addEventListener("keydown", (event) => {
                if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
                    event.preventDefault();
                    event.stopPropagation();
                    form.requestSubmit();
                }
            });
            this.#root.append(form);
            parts.at(-1).input.focus();
            form.scrollIntoView({ block: "nearest" });
        });
    }

    /** Removes questions that nobody waits for any more. */
    clear() {
        this.#root.replaceChildren();
    }
}

function fieldOf({ name, label: words, value = "", rows }) {
    const label = document.createElement("label");
    const caption = document.createElement("span");
    caption.textContent = words;
    const input = document.createElement(rows === undefined ? "input" : "textarea");
    if (rows !== undefined) {
        input.rows = rows;
    }
    input.value = value;
    input.spellcheck = false;
    label.append(caption, input);
    return { name, label, input };
}

function buttonOf(words, type, kind) {
    const button = document.createElement("button");
    button.type = type;
    button.className = kind;
    button.textContent = words;
    return button;
}
