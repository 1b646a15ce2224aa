PLAIN = "stone river amber willow slate ember harbor sparrow meadow lantern sable cedar thistle orchid salt finch"
WORDS = PLAIN.split()


def main():
    written = ""
    seed = 42
    for _ in range(160_000):
        seed = seed * 16807 % 2147483647
        written += WORDS[seed % 16] + " "

    vowels = 0
    for c in written:
        if c in "aeiou":
            vowels += 1

    pieces = []
    for word in written.strip().split(" "):
        if word.startswith("s"):
            pieces.append(word.upper())
        elif len(word) > 5:
            pieces.append(f"<{word}>")
        else:
            pieces.append(f"{word[0]}.{len(word)}")
    joined = ",".join(pieces).replace("er", "ER")

    return f"{vowels} {len(joined)} {joined[100:160]}"
