// Builds dist/: the client and the widget as modules that browsers load, without anything else.

import { createHash } from "node:crypto";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { build, transform } from "esbuild";

const TARGETS = ["chrome123", "firefox121", "safari17.5"];
const DIST = new URL("dist/", import.meta.url);

/** Style sheets stand in template literals, which a bundler leaves as they are. */
const smallStyles = {
  name: "small-styles",
  setup: ({ onLoad }) =>
    onLoad({ filter: /widget\/src\/styles\/\w+\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const [, before, sheet, after] = /^([\s\S]*css`)([^`]*)(`[\s\S]*)$/.exec(source) ?? [];
      if (sheet === undefined) return { contents: source, loader: "ts" };
      const { code } = await transform(sheet, { loader: "css", minify: true, target: TARGETS });
      return { contents: before + code.trim().replaceAll("\\", "\\\\") + after, loader: "ts" };
    }),
};

await rm(DIST, { recursive: true, force: true });
await build({
  entryPoints: { "baton-client": "client/src/index.ts", "baton-chat": "widget/src/index.ts" },
  outdir: "dist",
  bundle: true,
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  format: "esm",
  target: TARGETS,
  plugins: [smallStyles],
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
