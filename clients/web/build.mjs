// Builds dist/: the client and the widget as modules that browsers load, without anything else. Builds console/dist/: the
// console as a page with its modules, whose names change with their content.

import { createHash } from "node:crypto";
import { copyFile, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const TARGETS = ["chrome123", "firefox121", "safari17.5"];
const DIST = new URL("dist/", import.meta.url);
const CONSOLE = new URL("console/", import.meta.url);
const CONSOLE_DIST = new URL("console/dist/", import.meta.url);

/** Style sheets stand in template literals, which a bundler leaves as they are. */
const smallStyles = {
  name: "small-styles",
  setup: ({ onLoad }) =>
    onLoad({ filter: /(widget|console)\/src\/styles\/\w+\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const [, before, sheet, after] = /^([\s\S]*css`)([^`]*)(`[\s\S]*)$/.exec(source) ?? [];
      if (sheet === undefined) return { contents: source, loader: "ts" };
      const { code } = await transform(sheet, { loader: "css", minify: true, target: TARGETS });
      return { contents: before + code.trim().replaceAll("\\", "\\\\") + after, loader: "ts" };
    }),
};

/** A package in CommonJS, bundled beforehand: what its bundling needs would else be a chunk that every page loads. */
const commonJs = {
  name: "common-js",
  setup: ({ onLoad }) =>
    onLoad({ filter: /highlight\.js[\\/]lib[\\/]common\.js$/ }, async ({ path }) => {
      const { outputFiles } = await build({
        entryPoints: [path],
        bundle: true,
        format: "esm",
        target: TARGETS,
        legalComments: "inline",
        write: false,
      });
      return { contents: outputFiles[0].text };
    }),
};

const MARKED = fileURLToPath(import.meta.resolve("marked"));

/**
 * Marked in two parts: what reads Markdown comes with every answer, what writes HTML where an answer has HTML of its own.
 * What Marked does when it is loaded, which would keep both whole, makes functions that nobody calls here.
 */
const dividedMarked = {
  name: "divided-marked",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^marked$/ }, ({ importer }) => ({
      path: MARKED,
      suffix: importer.endsWith("html.ts") ? "?html" : "",
    }));
    onLoad({ filter: /marked\.esm\.js$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const [, classes, exported] = /^([\s\S]*)var \w+=new \w+;function [\s\S]*export\{(.*)\}/.exec(source) ?? [];
      if (classes === undefined)
        throw new Error("Marked has another form now: fit `dividedMarked` in build.mjs to it.");
      const names = exported.split(",").filter((name) => / as (Lexer|Parser|Renderer|getDefaults)$/.test(name));
      return { contents: `${classes}export{${names}};` };
    });
  },
};

const shared = {
  bundle: true,
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  format: "esm",
  target: TARGETS,
  plugins: [smallStyles, commonJs, dividedMarked],
  minify: true,
  sourcemap: true,
  legalComments: "linked",
  absWorkingDir: new URL(".", import.meta.url).pathname,
  logLevel: "warning",
};

await rm(DIST, { recursive: true, force: true });
await build({
  ...shared,
  entryPoints: { "baton-client": "client/src/index.ts", "baton-chat": "widget/src/index.ts" },
  outdir: "dist",
});

await copyFile(new URL("push/baton-push.js", import.meta.url), new URL("baton-push.js", DIST));

await rm(CONSOLE_DIST, { recursive: true, force: true });
const { metafile } = await build({
  ...shared,
  entryPoints: { console: "console/src/index.ts" },
  entryNames: "[name]-[hash]",
  outdir: "console/dist",
  metafile: true,
});
const [entry] = Object.entries(metafile.outputs).find(([, each]) => each.entryPoint === "console/src/index.ts") ?? [];
const page = await readFile(new URL("index.html", CONSOLE), "utf8");
await writeFile(new URL("index.html", CONSOLE_DIST), page.replace("ENTRY", basename(entry)));
await copyFile(new URL("page.css", CONSOLE), new URL("page.css", CONSOLE_DIST));

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
