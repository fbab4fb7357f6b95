// Builds dist/: the client and the widget as modules that browsers load, without anything else.

import { createHash } from "node:crypto";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const DIST = new URL("dist/", import.meta.url);

await rm(DIST, { recursive: true, force: true });
await build({
  entryPoints: { "baton-client": "client/src/index.ts", "baton-chat": "widget/src/index.ts" },
  outdir: "dist",
  bundle: true,
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  format: "esm",
  target: ["chrome111", "firefox115", "safari16.4"],
  minify: true,
  sourcemap: true,
  legalComments: "linked",
  absWorkingDir: new URL(".", import.meta.url).pathname,
  logLevel: "warning",
});

/** What a page may name as `integrity`. */
const integrity = {};
for (const name of await readdir(DIST, { recursive: true })) {
  if (!name.endsWith(".js")) continue;
  const hash = createHash("sha384")
    .update(await readFile(new URL(name, DIST)))
    .digest("base64");
  integrity[name] = `sha384-${hash}`;
}
await writeFile(new URL("integrity.json", DIST), `${JSON.stringify(integrity, null, 2)}\n`);
