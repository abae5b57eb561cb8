// A minimal ask-a-human service: a map, HTTP for asks and answers, and WebSockets
// for notifications. It stores nothing on disk.
import { createServer } from "node:http";
import { WebSocketServer } from "ws";

const asks = new Map();
const feeds = { asked: new Set(), answered: new Set() };
const tell = (feed, message) => {
  const text = JSON.stringify(message);
  for (const socket of feeds[feed]) socket.send(text);
};

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const [, verb, id] = request.url.split("/");
    const body = JSON.parse(Buffer.concat(chunks));
    const ask = asks.get(id);
    if (verb === "ask" && !ask) {
      asks.set(id, { question: body, outcome: null });
      tell("asked", { id, question: body });
      return response.end("{}");
    }
    if (verb === "answer" && ask && !ask.outcome) {
      ask.outcome = body; // the first answer wins: one thread, no race
      tell("answered", { id, outcome: body });
      return response.end("{}");
    }
    response.statusCode = 409;
    response.end("{}");
  });
});

new WebSocketServer({ server }).on("connection", (socket, request) => {
  const feed = feeds[request.url.slice(1)];
  feed?.add(socket);
  socket.on("close", () => feed?.delete(socket));
});
server.listen(Number(process.argv[2]), "127.0.0.1");
