const DAYS = 365.24;
const SOLAR_MASS = 4 * Math.PI * Math.PI;

function body(x, y, z, vx, vy, vz, mass) {
    return { x, y, z, vx: vx * DAYS, vy: vy * DAYS, vz: vz * DAYS, mass: mass * SOLAR_MASS };
}

function planets() {
    return [
        body(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
        body(4.84143144246472090, -1.16032004402742839, -0.103622044471123109,
            0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023, 0.000954791938424326609),
        body(8.34336671824457987, 4.12479856412430479, -0.403523417114321381,
            -0.00276742510726411, 0.00499852801234917, 0.0000230417297573763929, 0.000285885980666130812),
        body(12.8943695621391310, -15.1111514016986312, -0.223307578892655734,
            0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556, 0.0000436624404335156298),
        body(15.3796971148509165, -25.9193146099879641, 0.179258772950371181,
            0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870, 0.0000515138902046611451),
    ];
}

function advance(bodies, dt) {
    const count = bodies.length;
    for (let i = 0; i < count; i++) {
        const a = bodies[i];
        for (let j = i + 1; j < count; j++) {
            const b = bodies[j];
            const dx = a.x - b.x;
            const dy = a.y - b.y;
            const dz = a.z - b.z;
            const squared = dx * dx + dy * dy + dz * dz;
            const mag = dt / (squared * Math.sqrt(squared));
            a.vx -= dx * b.mass * mag;
            a.vy -= dy * b.mass * mag;
            a.vz -= dz * b.mass * mag;
            b.vx += dx * a.mass * mag;
            b.vy += dy * a.mass * mag;
            b.vz += dz * a.mass * mag;
        }
        a.x += dt * a.vx;
        a.y += dt * a.vy;
        a.z += dt * a.vz;
    }
}

function energy(bodies) {
    let total = 0.0;
    const count = bodies.length;
    for (let i = 0; i < count; i++) {
        const a = bodies[i];
        total += 0.5 * a.mass * (a.vx * a.vx + a.vy * a.vy + a.vz * a.vz);
        for (let j = i + 1; j < count; j++) {
            const b = bodies[j];
            const dx = a.x - b.x;
            const dy = a.y - b.y;
            const dz = a.z - b.z;
            total -= a.mass * b.mass / Math.sqrt(dx * dx + dy * dy + dz * dz);
        }
    }
    return total;
}

function main() {
    const bodies = planets();
    for (let step = 0; step < 20000; step++) {
        advance(bodies, 0.01);
    }
    return energy(bodies);
}
