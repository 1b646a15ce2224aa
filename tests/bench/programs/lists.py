def matrix(n, seed):
    rows = []
    for i in range(n):
        row = []
        for j in range(n):
            row.append((i * seed + j * 7) % 10)
        rows.append(row)
    return rows


def product_of(a, b):
    n = len(a)
    rows = []
    for i in range(n):
        row = []
        for j in range(n):
            total = 0
            for k in range(n):
                total += a[i][k] * b[k][j]
            row.append(total)
        rows.append(row)
    return rows


def sorted_by_insertion(xs):
    for i in range(1, len(xs)):
        item = xs[i]
        j = i
        while j > 0 and xs[j - 1] > item:
            xs[j] = xs[j - 1]
            j -= 1
        xs[j] = item
    return xs


def main():
    n = 110
    squares = product_of(matrix(n, 3), matrix(n, 5))
    total = 0
    for row in squares:
        for cell in row:
            total += cell

    numbers = []
    seed = 7
    for _ in range(1600):
        seed = seed * 16807 % 2147483647
        numbers.append(seed % 1000)
    ordered = sorted_by_insertion(numbers)

    running = []
    sum_so_far = 0
    for i in range(200_000):
        sum_so_far += ordered[i % 1600]
        running.append(sum_so_far)
    middle = running[10_000:20_000] + running[:10][::-1]
    return total + ordered[800] + middle[-1] + len(middle) + running[-1]
