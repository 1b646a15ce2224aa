function main() {
    const words = Array.from({ length: 5000 }, (_, n) => `word${n}`);
    const counts = new Map();
    let seed = 1;
    for (let i = 0; i < 500000; i++) {
        seed = seed * 16807 % 2147483647;
        const word = words[seed % 5000];
        counts.set(word, (counts.get(word) ?? 0) + 1);
    }

    const byLength = new Map();
    for (const word of counts.keys()) {
        const size = String(word.length);
        if (!byLength.has(size)) {
            byLength.set(size, new Map());
        }
        byLength.get(size).set(word, counts.get(word));
    }

    let found = 0;
    for (let round = 0; round < 40; round++) {
        for (const word of words) {
            if (counts.has(word)) {
                found += counts.get(word);
            }
        }
    }

    const totals = [];
    for (const size of [...byLength.keys()].sort()) {
        const group = byLength.get(size);
        let total = 0;
        for (const word of group.keys()) {
            total += group.get(word);
        }
        totals.push(`${size}:${group.size}:${total}`);
    }
    return `${totals.join(" ")} ${found}`;
}
