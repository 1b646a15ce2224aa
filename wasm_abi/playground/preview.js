/**
 * A reply as a page, in a frame whose sandbox runs no script. The frame inherits this page's policy, which forbids styles in the
 * text of a page; they are given to it as objects instead. `allow-same-origin` is what lets us do that; without scripts it gives
 * the page in the frame nothing.
 */

/** Where the program is, for links: a name that cannot exist. */
const HERE = "http://program.invalid";

/**
 * Shows HTML that came from `path`; `follow(request)` is called when a link or a form of the page leads to another path of the
 * program. Links to elsewhere do nothing.
 */
export function show(frame, html, path, follow) {
    frame.addEventListener("load", () => dress(frame, new URL(path, HERE), follow), { once: true });
    frame.srcdoc = html;
}

function dress(frame, place, follow) {
    const page = frame.contentDocument;
    if (page === null) {
        return;
    }
    const { CSSStyleSheet } = frame.contentWindow;
    for (const style of page.querySelectorAll("style")) {
        const sheet = new CSSStyleSheet({ media: style.media });
        sheet.replaceSync(style.textContent);
        page.adoptedStyleSheets.push(sheet);
    }
    for (const element of page.querySelectorAll("[style]")) {
        const text = element.getAttribute("style");
        element.removeAttribute("style");
        element.style.cssText = text;
    }
    const lead = (to, request) => {
        const target = new URL(to, place);
        if (target.origin === HERE) {
            follow({ method: "GET", headers: "", body: "", ...request, path: target.pathname + target.search });
        }
    };
    page.addEventListener("click", (event) => {
        const to = event.target.closest?.("a[href]")?.getAttribute("href");
        if (to !== undefined && to !== null && !to.startsWith("#")) {
            event.preventDefault();
            lead(to, {});
        }
    });
    page.addEventListener("submit", (event) => {
        event.preventDefault();
        const { target: form, submitter } = event;
        const action = form.getAttribute("action") || place.pathname;
        const fields = new URLSearchParams(new frame.contentWindow.FormData(form, submitter)).toString();
        if (form.method === "get") {
            lead(`${action.split("?")[0]}?${fields}`, {});
        } else {
            lead(action, { method: "POST", headers: "Content-Type: application/x-www-form-urlencoded", body: fields });
        }
    });
}
