/**
 * Shows a reply as a page, in a frame whose sandbox runs no scripts and whose policy loads nothing and submits no forms.
 * `allow-same-origin` lets this page write into the frame, `allow-forms` lets it see that a form is sent; without scripts they
 * give the page in the frame nothing.
 */

/** The base URL of links in the page: a host name that cannot exist. */
const HERE = "http://program.invalid";

export class Preview {
    #frame;
    #loaded;
    #place = new URL(HERE);

    /** `follow(request)` is called when a link or a form leads to another path of the program. Links to elsewhere do nothing. */
    constructor(frame, follow) {
        this.#frame = frame;
        this.#loaded = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true })).then(() => {
            const page = frame.contentDocument;
            page.addEventListener("click", (event) => this.#clicked(event, follow));
            page.addEventListener("submit", (event) => this.#sent(event, follow));
            return page;
        });
        frame.src = "preview.html";
    }

    /** Shows HTML that came from `path`. */
    async show(html, path) {
        this.#place = new URL(path, HERE);
        const page = await this.#loaded;
        const draft = page.implementation.createHTMLDocument("");
        draft.documentElement.innerHTML = html;
        // Removes elements that act by themselves: browsers follow some, or resolve their names, despite the policy.
        for (const element of draft.querySelectorAll("base, embed, frame, iframe, link, meta, object, script")) {
            element.remove();
        }
        page.replaceChild(page.adoptNode(draft.documentElement), page.documentElement);
        page.scrollingElement?.scrollTo(0, 0);
    }

    #clicked(event, follow) {
        const to = event.target.closest?.("a[href]")?.getAttribute("href") ?? "#";
        if (!to.startsWith("#")) {
            event.preventDefault();
            this.#lead(to, {}, follow);
        }
    }

    #sent(event, follow) {
        event.preventDefault();
        const { target: form, submitter } = event;
        const action = form.getAttribute("action") || this.#place.pathname;
        const fields = new URLSearchParams(new this.#frame.contentWindow.FormData(form, submitter)).toString();
        if (form.method === "get") {
            this.#lead(`${action.split("?")[0]}?${fields}`, {}, follow);
        } else {
            this.#lead(action, { method: "POST", headers: "Content-Type: application/x-www-form-urlencoded", body: fields }, follow);
        }
    }

    #lead(to, request, follow) {
        const target = new URL(to, this.#place);
        if (target.origin === HERE) {
            follow({ method: "GET", headers: "Accept: text/html", body: "", ...request, path: target.pathname + target.search });
        }
    }
}
