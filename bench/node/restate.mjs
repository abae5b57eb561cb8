// An ask on Restate: a workflow that shows the question, waits on a durable
// promise, and returns the outcome. An answer resolves the promise.
import * as restate from "@restatedev/restate-sdk";
import { createServer } from "node:http";
import { WebSocketServer } from "ws";

// The SDK needs a newer Node than Debian's.
Promise.withResolvers ??= function () {
  const all = {};
  all.promise = new this((resolve, reject) => Object.assign(all, { resolve, reject }));
  return all;
};

const [servicePort, feedPort] = process.argv.slice(2).map(Number);
const screens = new Set();

const ask = restate.workflow({
  name: "ask",
  handlers: {
    run: async (ctx, question) => {
      await ctx.run("show", () => {
        const text = JSON.stringify({ id: ctx.key, question });
        for (const screen of screens) screen.send(text);
      });
      return await ctx.promise("outcome");
    },
    answer: async (ctx, outcome) => {
      await ctx.promise("outcome").resolve(outcome); // a second answer is refused
    },
  },
});

const feed = createServer();
new WebSocketServer({ server: feed }).on("connection", (screen) => {
  screens.add(screen);
  screen.on("close", () => screens.delete(screen));
});
feed.listen(feedPort, "127.0.0.1");
restate.serve({ services: [ask], port: servicePort });
