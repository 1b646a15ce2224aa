// Starts `lang lsp` and connects it to the editor. package.py bundles this file with the library that it needs.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async function () {
  const command = workspace.getConfiguration("lang").get("path") || "lang";
  const server = { command, args: ["lsp"] };
  client = new LanguageClient("lang", "lang", server, { documentSelector: [{ language: "lang" }] });
  await client.start();
};

exports.deactivate = function () {
  return client === undefined ? undefined : client.stop();
};
