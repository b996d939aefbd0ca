"""JSON schemas of Kubernetes' objects for kubeconform, from the OpenAPI description of the API server that tests run."""
import json
import os
import subprocess
from pathlib import Path

from tools import ROOT

OPENAPI = "api/openapi-spec/swagger.json"
EITHER = {"io.k8s.apimachinery.pkg.util.intstr.IntOrString": ["string", "integer"],
          "io.k8s.apimachinery.pkg.api.resource.Quantity": ["string", "number"]}


def openapi(go):
    """Of the module that tests/cluster builds the API server from; None where it was never downloaded."""
    found = subprocess.run([go, "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"], cwd=ROOT / "tests/cluster/tools/kubernetes",
                           capture_output=True, text=True, env={**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off"})
    file = Path(found.stdout.strip()) / OPENAPI
    return json.loads(file.read_text()) if found.returncode == 0 and found.stdout.strip() and file.is_file() else None


def strict(node):
    """As JSON schema has it, with fields that nobody knows refused; of a definition's own fields, one may be called $ref."""
    if isinstance(node, list):
        return [strict(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {name: {field: strict(value) for field, value in inner.items()} if name == "properties" else strict(inner)
            for name, inner in node.items()}
    if "properties" in made and "additionalProperties" not in made:
        made["additionalProperties"] = False
    return made


def reached(node, definitions, found):
    """The names of all definitions that it refers to."""
    for name, inner in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if name == "$ref" and isinstance(inner, str):
            definition = inner.rpartition("/")[2]
            if definition not in found:
                found.add(definition)
                reached(definitions[definition], definitions, found)
        else:
            reached(inner, definitions, found)
    return found


def write(description, kinds, folder):
    """A file for each (API version, kind), as kubeconform's pattern {{.ResourceKind}}{{.KindSuffix}} finds it. Returns the pattern."""
    definitions = {name: {"type": EITHER[name]} if name in EITHER else strict(one) for name, one in description["definitions"].items()}
    for name, one in description["definitions"].items():
        for kind in one.get("x-kubernetes-group-version-kind", []):
            version = "/".join(filter(None, (kind["group"], kind["version"])))
            if (version, kind["kind"]) not in kinds:
                continue
            needed = {part: definitions[part] for part in reached(definitions[name], definitions, {name})}
            group = kind["group"].split(".")[0]
            file = "-".join(filter(None, (kind["kind"].lower(), group, kind["version"]))) + ".json"
            (Path(folder) / file).write_text(json.dumps({"$ref": f"#/definitions/{name}", "definitions": needed}))
    return f"{folder}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
