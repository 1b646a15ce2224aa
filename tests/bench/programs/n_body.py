from math import pi, sqrt

DAYS = 365.24
SOLAR_MASS = 4 * pi * pi


def body(x, y, z, vx, vy, vz, mass):
    return {"x": x, "y": y, "z": z, "vx": vx * DAYS, "vy": vy * DAYS, "vz": vz * DAYS, "mass": mass * SOLAR_MASS}


def planets():
    return [
        body(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
        body(
            4.84143144246472090,
            -1.16032004402742839,
            -0.103622044471123109,
            0.00166007664274403694,
            0.00769901118419740425,
            -0.0000690460016972063023,
            0.000954791938424326609,
        ),
        body(
            8.34336671824457987,
            4.12479856412430479,
            -0.403523417114321381,
            -0.00276742510726411,
            0.00499852801234917,
            0.0000230417297573763929,
            0.000285885980666130812,
        ),
        body(
            12.8943695621391310,
            -15.1111514016986312,
            -0.223307578892655734,
            0.00296460137564761618,
            0.00237847173959480950,
            -0.0000296589568540237556,
            0.0000436624404335156298,
        ),
        body(
            15.3796971148509165,
            -25.9193146099879641,
            0.179258772950371181,
            0.00268067772490389322,
            0.00162824170038242295,
            -0.0000951592254519715870,
            0.0000515138902046611451,
        ),
    ]


def advance(bodies, dt):
    count = len(bodies)
    for i in range(count):
        a = bodies[i]
        for j in range(i + 1, count):
            b = bodies[j]
            dx = a["x"] - b["x"]
            dy = a["y"] - b["y"]
            dz = a["z"] - b["z"]
            squared = dx * dx + dy * dy + dz * dz
            mag = dt / (squared * sqrt(squared))
            a["vx"] -= dx * b["mass"] * mag
            a["vy"] -= dy * b["mass"] * mag
            a["vz"] -= dz * b["mass"] * mag
            b["vx"] += dx * a["mass"] * mag
            b["vy"] += dy * a["mass"] * mag
            b["vz"] += dz * a["mass"] * mag
        a["x"] += dt * a["vx"]
        a["y"] += dt * a["vy"]
        a["z"] += dt * a["vz"]


def energy(bodies):
    total = 0.0
    count = len(bodies)
    for i in range(count):
        a = bodies[i]
        total += 0.5 * a["mass"] * (a["vx"] * a["vx"] + a["vy"] * a["vy"] + a["vz"] * a["vz"])
        for j in range(i + 1, count):
            b = bodies[j]
            dx = a["x"] - b["x"]
            dy = a["y"] - b["y"]
            dz = a["z"] - b["z"]
            total -= a["mass"] * b["mass"] / sqrt(dx * dx + dy * dy + dz * dz)
    return total


def main():
    bodies = planets()
    for _ in range(20000):
        advance(bodies, 0.01)
    return energy(bodies)
