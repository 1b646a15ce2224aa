/** A program with its settings in the fragment of a link, which browsers do not send to any server. */

const VERSION = "1";

/** The fragment for a state (an object that JSON can hold). */
export async function fragmentOf(state) {
    const packed = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
    let text = "";
    for (const byte of packed) {
        text += String.fromCharCode(byte);
    }
    return `#${VERSION}.${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** The state in a fragment; `null` for a fragment that is not ours. Rejects for a damaged one. */
export async function stateOf(fragment) {
    const [version, text] = fragment.replace(/^#/, "").split(".");
    if (version !== VERSION || text === undefined) {
        return null;
    }
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
    const state = JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))));
    if (typeof state?.source !== "string") {
        throw new TypeError("the link holds no program");
    }
    return state;
}

async function through(bytes, transform) {
    return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(transform)).arrayBuffer());
}
