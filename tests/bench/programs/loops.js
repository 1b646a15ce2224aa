function main() {
    let total = 0;
    let i = 0;
    while (i < 1000000) {
        if (i % 3 === 0) {
            total += i;
        } else if (i % 5 === 0) {
            total -= 1;
        } else {
            total += Math.floor(i / 7);
        }
        i += 1;
    }
    for (let a = 0; a < 800; a++) {
        for (let b = 0; b < 800; b++) {
            total = (total * 31 + a * b) % 1000003;
        }
    }
    return total;
}
