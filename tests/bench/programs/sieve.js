function main() {
    const limit = 1500000;
    const composite = new Array(limit + 1).fill(false);
    let count = 0;
    let last = 0;
    for (let i = 2; i <= limit; i++) {
        if (!composite[i]) {
            count++;
            last = i;
            for (let j = i * i; j <= limit; j += i) {
                composite[j] = true;
            }
        }
    }
    return `${count} ${last}`;
}
