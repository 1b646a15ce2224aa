// Node's http with one JSON route. Prints its port.
import http from "node:http";

const server = http.createServer((request, response) => {
  if (request.url !== "/json") {
    response.writeHead(404).end();
    return;
  }
  const body = JSON.stringify({ id: 1, name: "a", tags: ["x", "y"] });
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
  response.end(body);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
