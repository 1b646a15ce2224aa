from functools import reduce


def compose(f, g):
    return lambda x: f(g(x))


def adder(n):
    return lambda x: x + n


def twice(f):
    return compose(f, f)


def pipeline(xs, change, keep):
    return reduce(lambda acc, x: acc + x, filter(keep, map(change, xs)), 0)


def main():
    xs = range(40_000)
    total = 0
    for n in range(8):
        change = compose(twice(adder(n)), lambda x: x * 3)
        total += pipeline(xs, change, lambda x, n=n: x % (n + 2) == 0)

    people = [{"id": n, "age": n * 7919 % 97, "city": n * 31 % 11} for n in xs]
    ordered = sorted(people, key=lambda p: p["age"] * 100_000 + p["id"])
    ages = [p["age"] for p in ordered if p["city"] == 3 and p["age"] > 40]
    total += reduce(lambda acc, age: (acc * 7 + age) % 1_000_003, ages, 0)

    every_age = all(p["age"] < 97 for p in people)
    some_old = any(p["age"] == 96 and p["id"] > 9000 for p in people)
    first = next(p for p in ordered if p["age"] > 50)
    return f"{total} {len(ages)} {str(every_age).lower()} {str(some_old).lower()} {first['id']}"
