/**
 * The shared buffer between the page and the worker in which the interpreter blocks: 16 bytes of control, then data.
 *
 * The page writes a chunk's length, the bytes that are left after it, then the state, and wakes the worker. The worker puts the
 * state back to WAITING before it asks for an answer, and before it acknowledges a chunk.
 */

export const WAITING = 0;
export const LAST = 1;
export const MORE = 2;
export const NOT_OFFERED = 3;

export const CONTROL_BYTES = 16;
const STATE = 0;
const LENGTH = 1;
const LEFT = 2;
/** Otherwise unused: set when the worker is to end. Not every runtime wakes a worker that it terminates (Deno does not). */
const ENDED = 3;

/** How late a worker may notice that it is to end, if that is set just before it blocks. In milliseconds. */
const LOOK_AGAIN_MS = 1000;

/** The page's end of the channel: sends one answer after the other. */
export class Answers {
    #control;
    #data;
    #pending = new Uint8Array(0);

    constructor(shared) {
        this.#control = new Int32Array(shared, 0, CONTROL_BYTES / 4);
        this.#data = new Uint8Array(shared, CONTROL_BYTES);
    }

    /** Sends the bytes of an answer; `undefined` for a hook that is not provided. */
    give(bytes) {
        if (bytes === undefined) {
            this.#wake(NOT_OFFERED);
        } else {
            this.#pending = bytes;
            this.next();
        }
    }

    /** Sends the next chunk, when the worker has taken the one before. */
    next() {
        const chunk = this.#pending.subarray(0, this.#data.length);
        this.#pending = this.#pending.subarray(chunk.length);
        this.#data.set(chunk);
        this.#control[LENGTH] = chunk.length;
        this.#control[LEFT] = this.#pending.length;
        this.#wake(this.#pending.length > 0 ? MORE : LAST);
    }

    /** Ends the channel: there will be no more answers. */
    end() {
        Atomics.store(this.#control, ENDED, 1);
        Atomics.notify(this.#control, STATE);
    }

    #wake(state) {
        Atomics.store(this.#control, STATE, state);
        Atomics.notify(this.#control, STATE);
    }
}

/** The worker's end of the channel. */
export class Questions {
    #control;
    #data;

    constructor(shared) {
        this.#control = new Int32Array(shared, 0, CONTROL_BYTES / 4);
        this.#data = new Uint8Array(shared, CONTROL_BYTES);
    }

    /** Whether the page has ended the channel. */
    get ended() {
        return Atomics.load(this.#control, ENDED) === 1;
    }

    /** Blocks until the page has answered the request that `ask()` sends. `acknowledge()` requests the next chunk. */
    ask(ask, acknowledge) {
        let post = ask;
        let answer = null;
        let filled = 0;
        for (;;) {
            Atomics.store(this.#control, STATE, WAITING);
            post();
            while (Atomics.wait(this.#control, STATE, WAITING, LOOK_AGAIN_MS) === "timed-out" && !this.ended);
            if (this.ended) {
                throw new Error("ended");
            }
            const state = Atomics.load(this.#control, STATE);
            if (state === NOT_OFFERED) {
                return undefined;
            }
            const length = this.#control[LENGTH];
            answer ??= new Uint8Array(length + this.#control[LEFT]);
            answer.set(this.#data.subarray(0, length), filled);
            filled += length;
            if (state === LAST) {
                return answer;
            }
            post = acknowledge;
        }
    }
}
