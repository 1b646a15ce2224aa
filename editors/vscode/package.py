"""Builds the package that Visual Studio Code installs: ``python editors/vscode/package.py``, or ``make editors``.

The client and the library that it stands on become one file by esbuild. The packages of npm lie in ``.venvs/editors``; they are
locked by ``package-lock.json``. A ``.vsix`` is a zip file of the extension, with a manifest beside it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGES = ROOT / ".venvs" / "editors"
TARGET = ROOT / "dist" / "lang.vsix"

#: Files of the extension as they lie here, beside the bundle.
FILES = ("README.md", "language-configuration.json", "syntaxes/lang.tmLanguage.json")
BUNDLE = "extension.js"

CONTENT_TYPES = """\
<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension=".json" ContentType="application/json"/>
  <Default Extension=".js" ContentType="application/javascript"/>
  <Default Extension=".md" ContentType="text/markdown"/>
  <Default Extension=".txt" ContentType="text/plain"/>
  <Default Extension=".vsixmanifest" ContentType="text/xml"/>
</Types>
"""


def manifest(package: dict[str, object]) -> str:
    """The manifest beside the extension, from its ``package.json``."""
    engine = package["engines"]
    assert isinstance(engine, dict)
    identity = f'Language="en-US" Id={quoteattr(str(package["name"]))} Version={quoteattr(str(package["version"]))}'
    return f"""\
<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity {identity} Publisher={quoteattr(str(package["publisher"]))}/>
    <DisplayName>{escape(str(package["displayName"]))}</DisplayName>
    <Description xml:space="preserve">{escape(str(package["description"]))}</Description>
    <Categories>{escape(",".join(map(str, package["categories"])))}</Categories>
    <License>extension/LICENSE.txt</License>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={quoteattr(str(engine["vscode"]))}/>
    </Properties>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def bundled() -> bytes:
    """The client and its library as one file. Raises ``FileNotFoundError`` where the packages are not installed."""
    script = PACKAGES / "node_modules" / "esbuild" / "bin" / "esbuild"
    if not script.is_file():
        raise FileNotFoundError(f"{script} is not there: .ci/node editors/vscode .venvs/editors installs it")
    target = PACKAGES / BUNDLE
    (PACKAGES / "client.js").write_bytes((HERE / "client.js").read_bytes())
    flags = (
        "--bundle",
        "--platform=node",
        "--format=cjs",
        "--target=node20",
        "--external:vscode",
        "--minify",
        "--log-level=warning",
    )
    subprocess.run([script, "client.js", *flags, f"--outfile={BUNDLE}"], cwd=PACKAGES, check=True)
    return target.read_bytes()


def notices() -> str:
    """The licenses of the packages that are in the bundle."""
    found = []
    for folder in sorted((PACKAGES / "node_modules").iterdir()):
        for licence in sorted(folder.glob("[Ll][Ii][Cc][Ee][Nn][Ss][Ee]*")):
            if "esbuild" not in folder.parts:
                about = json.loads((folder / "package.json").read_text(encoding="utf-8"))
                found.append(f"{about['name']} {about['version']}\n\n{licence.read_text(encoding='utf-8').strip()}\n")
    return f"\n{'-' * 72}\n\n".join(found)


def build(target: Path = TARGET) -> Path:
    """Writes the package; the same sources give the same bytes. Returns its path."""
    package = json.loads((HERE / "package.json").read_text(encoding="utf-8"))
    shown = {key: value for key, value in package.items() if key not in ("dependencies", "devDependencies", "private")}
    contents = {
        "extension.vsixmanifest": manifest(package).encode(),
        "[Content_Types].xml": CONTENT_TYPES.encode(),
        "extension/package.json": (json.dumps(shown, indent=2) + "\n").encode(),
        "extension/LICENSE.txt": (ROOT / "LICENSE").read_bytes(),
        f"extension/{BUNDLE}": bundled(),
        "extension/THIRD-PARTY.txt": notices().encode(),
        **{f"extension/{name}": (HERE / name).read_bytes() for name in FILES},
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            entry = ZipInfo(name)
            entry.compress_type = ZIP_DEFLATED
            archive.writestr(entry, data)
    return target


if __name__ == "__main__":
    try:
        print(build())
    except FileNotFoundError as error:
        sys.exit(str(error))
