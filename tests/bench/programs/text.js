const WORDS = "stone river amber willow slate ember harbor sparrow meadow lantern sable cedar thistle orchid salt finch".split(" ");

// QuickJS copies the whole text at each +=, so pieces are joined at the end.
function main() {
    const parts = [];
    let seed = 42;
    for (let i = 0; i < 160000; i++) {
        seed = seed * 16807 % 2147483647;
        parts.push(WORDS[seed % 16] + " ");
    }
    const written = parts.join("");

    let vowels = 0;
    for (const c of written) {
        if ("aeiou".includes(c)) {
            vowels++;
        }
    }

    const pieces = [];
    for (const word of written.trim().split(" ")) {
        if (word.startsWith("s")) {
            pieces.push(word.toUpperCase());
        } else if (word.length > 5) {
            pieces.push(`<${word}>`);
        } else {
            pieces.push(word[0] + "." + word.length);
        }
    }
    const joined = pieces.join(",").replaceAll("er", "ER");

    return `${vowels} ${joined.length} ${joined.slice(100, 160)}`;
}
