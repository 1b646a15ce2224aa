local sqrt, pi = math.sqrt, math.pi
local DAYS = 365.24
local SOLAR_MASS = 4 * pi * pi

local function body(x, y, z, vx, vy, vz, mass)
    return { x = x, y = y, z = z, vx = vx * DAYS, vy = vy * DAYS, vz = vz * DAYS, mass = mass * SOLAR_MASS }
end

local function planets()
    return {
        body(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
        body(4.84143144246472090, -1.16032004402742839, -0.103622044471123109,
            0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023, 0.000954791938424326609),
        body(8.34336671824457987, 4.12479856412430479, -0.403523417114321381,
            -0.00276742510726411, 0.00499852801234917, 0.0000230417297573763929, 0.000285885980666130812),
        body(12.8943695621391310, -15.1111514016986312, -0.223307578892655734,
            0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556, 0.0000436624404335156298),
        body(15.3796971148509165, -25.9193146099879641, 0.179258772950371181,
            0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870, 0.0000515138902046611451),
    }
end

local function advance(bodies, dt)
    local count = #bodies
    for i = 1, count do
        local a = bodies[i]
        for j = i + 1, count do
            local b = bodies[j]
            local dx = a.x - b.x
            local dy = a.y - b.y
            local dz = a.z - b.z
            local squared = dx * dx + dy * dy + dz * dz
            local mag = dt / (squared * sqrt(squared))
            a.vx = a.vx - dx * b.mass * mag
            a.vy = a.vy - dy * b.mass * mag
            a.vz = a.vz - dz * b.mass * mag
            b.vx = b.vx + dx * a.mass * mag
            b.vy = b.vy + dy * a.mass * mag
            b.vz = b.vz + dz * a.mass * mag
        end
        a.x = a.x + dt * a.vx
        a.y = a.y + dt * a.vy
        a.z = a.z + dt * a.vz
    end
end

local function energy(bodies)
    local total = 0.0
    local count = #bodies
    for i = 1, count do
        local a = bodies[i]
        total = total + 0.5 * a.mass * (a.vx * a.vx + a.vy * a.vy + a.vz * a.vz)
        for j = i + 1, count do
            local b = bodies[j]
            local dx = a.x - b.x
            local dy = a.y - b.y
            local dz = a.z - b.z
            total = total - a.mass * b.mass / sqrt(dx * dx + dy * dy + dz * dz)
        end
    end
    return total
end

function main()
    local bodies = planets()
    for _ = 1, 20000 do
        advance(bodies, 0.01)
    end
    return energy(bodies)
end
