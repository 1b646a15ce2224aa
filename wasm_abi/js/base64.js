/** Standard base64, in pieces small enough to be passed as the arguments of one call. */

const PIECE = 0x8000;

/** The base64 of an `ArrayBuffer` or of a view of one; `null` for anything else. */
export function base64(data) {
    let bytes;
    if (data instanceof Uint8Array) {
        bytes = data;
    } else if (ArrayBuffer.isView(data)) {
        bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    } else if (Object.prototype.toString.call(data) === "[object ArrayBuffer]") {
        bytes = new Uint8Array(data); // also one of another realm
    } else {
        return null;
    }
    let text = "";
    for (let start = 0; start < bytes.length; start += PIECE) {
        text += String.fromCharCode.apply(null, bytes.subarray(start, start + PIECE));
    }
    return btoa(text);
}
