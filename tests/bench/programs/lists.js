function matrix(n, seed) {
    const rows = [];
    for (let i = 0; i < n; i++) {
        const row = [];
        for (let j = 0; j < n; j++) {
            row.push((i * seed + j * 7) % 10);
        }
        rows.push(row);
    }
    return rows;
}

function productOf(a, b) {
    const n = a.length;
    const rows = [];
    for (let i = 0; i < n; i++) {
        const row = [];
        for (let j = 0; j < n; j++) {
            let total = 0;
            for (let k = 0; k < n; k++) {
                total += a[i][k] * b[k][j];
            }
            row.push(total);
        }
        rows.push(row);
    }
    return rows;
}

function sortedByInsertion(xs) {
    for (let i = 1; i < xs.length; i++) {
        const item = xs[i];
        let j = i;
        while (j > 0 && xs[j - 1] > item) {
            xs[j] = xs[j - 1];
            j -= 1;
        }
        xs[j] = item;
    }
    return xs;
}

function main() {
    const n = 110;
    const squares = productOf(matrix(n, 3), matrix(n, 5));
    let total = 0;
    for (const row of squares) {
        for (const cell of row) {
            total += cell;
        }
    }

    const numbers = [];
    let seed = 7;
    for (let i = 0; i < 1600; i++) {
        seed = seed * 16807 % 2147483647;
        numbers.push(seed % 1000);
    }
    const ordered = sortedByInsertion(numbers);

    const running = [];
    let sumSoFar = 0;
    for (let i = 0; i < 200000; i++) {
        sumSoFar += ordered[i % 1600];
        running.push(sumSoFar);
    }
    const middle = running.slice(10000, 20000).concat(running.slice(0, 10).reverse());
    return total + ordered[800] + middle[middle.length - 1] + middle.length + running[running.length - 1];
}
