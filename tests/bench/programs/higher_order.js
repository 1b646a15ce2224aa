const compose = (f, g) => (x) => f(g(x));
const adder = (n) => (x) => x + n;
const twice = (f) => compose(f, f);

function pipeline(xs, change, keep) {
    return xs.map(change).filter(keep).reduce((acc, x) => acc + x, 0);
}

function main() {
    const xs = Array.from({ length: 40000 }, (_, n) => n);
    let total = 0;
    for (let n = 0; n < 8; n++) {
        const change = compose(twice(adder(n)), (x) => x * 3);
        total += pipeline(xs, change, (x) => x % (n + 2) === 0);
    }

    const people = xs.map((n) => ({ id: n, age: n * 7919 % 97, city: n * 31 % 11 }));
    const ordered = [...people].sort((a, b) => (a.age * 100000 + a.id) - (b.age * 100000 + b.id));
    const ages = ordered.filter((p) => p.city === 3 && p.age > 40).map((p) => p.age);
    total += ages.reduce((acc, age) => (acc * 7 + age) % 1000003, 0);

    const everyAge = people.every((p) => p.age < 97);
    const someOld = people.some((p) => p.age === 96 && p.id > 9000);
    const first = ordered.find((p) => p.age > 50);
    return `${total} ${ages.length} ${everyAge} ${someOld} ${first.id}`;
}
