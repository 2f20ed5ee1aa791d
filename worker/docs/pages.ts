// The HTML pages of the documentation. Neither holds a script or a style of its own, so that a strict policy can forbid both.
import { listReferences, type OpenApiDocument } from './document.ts'
import type { JsonSchema } from './schema.ts'

/** The page with Swagger UI. Addresses are relative, so that it works below the prefix of a proxy. */
export function writeInteractivePage({ title, version }: { title: string; version: string }): string {
  const asset = (name: string) => `docs/${name}?v=${encodeURIComponent(version)}`
  return page(title, [
    `<link rel="stylesheet" href="${asset('swagger-ui.css')}">`,
    `<link rel="stylesheet" href="${asset('docs.css')}">`,
    `<link rel="icon" type="image/png" href="${asset('favicon-32x32.png')}">`
  ])(
    '<nav class="pages"><a href="redoc">Reference without scripts</a> · <a href="openapi.json">openapi.json</a></nav>' +
      '<div id="swagger-ui"></div>' +
      '<noscript><p>This page needs JavaScript. <a href="redoc">The reference</a> does not.</p></noscript>' +
      `<script src="${asset('swagger-ui-bundle.js')}"></script><script src="${asset('start.js')}"></script>`
  )
}

/** The whole document as one page to read: operations by tag, then the schemas. */
export function writeReferencePage(document: OpenApiDocument): string {
  const { info, tags, components } = document
  const stylesheet = `<link rel="stylesheet" href="docs/reference.css?v=${encodeURIComponent(info.version)}">`
  const icon = `<link rel="icon" type="image/png" href="docs/favicon-32x32.png?v=${encodeURIComponent(info.version)}">`
  const sections = tags.map(({ name }) => writeTag(name, document))
  const schemas = Object.entries(components.schemas).map(([name, schema]) => writeSchema(name, schema))
  return page(info.title, [stylesheet, icon])(
    `<header><h1>${escapeHtml(info.title)} <span class="muted">${escapeHtml(info.version)}</span></h1>` +
      `<p>${code(info.description)}</p>` +
      `<p><a href="docs">Interactive documentation</a> · <a href="openapi.json">openapi.json</a></p>` +
      `${writeSecurity(components.securitySchemes)}<nav><ul>${tags.map(writeTagLink).join('')}` +
      '<li><a href="#schemas">Schemas</a></li></ul></nav></header>' +
      `<main>${sections.join('')}<h2 id="schemas">Schemas</h2>${schemas.join('')}</main>`
  )
}

function page(title: string, links: readonly string[]): (body: string) => string {
  return body =>
    '<!doctype html><html lang="en"><head><meta charset="utf-8">' +
    '<meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<title>${escapeHtml(title)}</title>${links.join('')}</head><body>${body}</body></html>\n`
}

function writeSecurity(schemes: OpenApiDocument['components']['securitySchemes']): string {
  if (schemes === undefined) return ''
  const carriers = Object.values(schemes).map(scheme =>
    scheme.type === 'http' ? 'Authorization: Bearer' : `${String(scheme.in)} ${String(scheme.name)}`
  )
  return `<p>Keys are taken from: ${carriers.map(carrier => `<code>${escapeHtml(carrier)}</code>`).join(', ')}.</p>`
}

function writeTagLink({ name }: { name: string }): string {
  return `<li><a href="#${anchor(name)}">${escapeHtml(name)}</a></li>`
}

function writeTag(tag: string, { paths, components }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      (operation.tags as string[]).includes(tag) ? [writeOperation(path, method, { operation, components })] : []
    )
  )
  return `<section><h2 id="${anchor(tag)}">${escapeHtml(tag)}</h2>${operations.join('')}</section>`
}

type Components = OpenApiDocument['components']

function writeOperation(
  path: string,
  method: string,
  { operation, components }: { operation: JsonSchema; components: Components }
): string {
  const { summary, description, parameters = [], requestBody, responses } = operation
  const bodies = listReferences(requestBody).map(target => `<h4>Body</h4><p>${linkSchema(target)}</p>`)
  const rows = Object.entries(responses as Record<string, JsonSchema>).map(([status, response]) =>
    writeResponse(status, findResponse(response, components))
  )
  return (
    `<details id="${anchor(String(operation.operationId))}"><summary>` +
    `<span class="method ${method}">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code> ` +
    `<span class="muted">${escapeHtml(String(summary))}</span></summary>` +
    writeText(description) +
    writeParameters(parameters as JsonSchema[]) +
    bodies.join('') +
    `<h4>Responses</h4><dl>${rows.join('')}</dl></details>`
  )
}

/** Paragraphs of a description. */
function writeText(description: unknown): string {
  if (description === undefined) return ''
  const paragraphs = String(description).split('\n\n')
  return paragraphs.map(text => `<p>${code(text)}</p>`).join('')
}

/** The response itself, or the component that it refers to. */
function findResponse(response: JsonSchema, { responses }: Components): JsonSchema {
  return typeof response.$ref === 'string' ? (responses[lastSegment(response.$ref)] ?? response) : response
}

function writeParameters(parameters: readonly JsonSchema[]): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(
    ({ name, in: place, description }) =>
      `<dt><code>${escapeHtml(String(name))}</code> <span class="muted">${escapeHtml(String(place))}</span></dt>` +
      `<dd>${code(String(description))}</dd>`
  )
  return `<h4>Parameters</h4><dl>${rows.join('')}</dl>`
}

/** The properties of a body with the sentences of their treatment, and an example. */
function writeMembers(schema: JsonSchema): string {
  const required = new Set((schema.required ?? []) as string[])
  const rows = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).map(
    ([name, member]) =>
      `<dt><code>${escapeHtml(name)}</code>${required.has(name) ? ' <strong>required</strong>' : ''} ` +
      `<span class="muted">${escapeHtml(describeType(member))}</span></dt><dd>${code(String(member.description ?? ''))}</dd>`
  )
  const [example] = (schema.examples ?? []) as unknown[]
  const shown = example === undefined ? '' : `<pre>${escapeHtml(JSON.stringify(example, null, 2))}</pre>`
  return `<dl>${rows.join('')}</dl><p>${code(String(schema.description ?? ''))}</p>${shown}`
}

function writeResponse(status: string, { description, content = {} }: JsonSchema): string {
  const contents = Object.entries(content as Record<string, { schema: JsonSchema }>).map(
    ([type, { schema }]) => `<br><code>${escapeHtml(type)}</code> ${linkSchemas(schema)}`
  )
  return `<dt><code>${escapeHtml(status)}</code></dt><dd>${code(String(description))}${contents.join('')}</dd>`
}

/** A request body as the list of its parameters with their treatment, any other schema as JSON. */
function writeSchema(name: string, schema: JsonSchema): string {
  const isBody = Object.values((schema.properties ?? {}) as Record<string, JsonSchema>).some(
    member => member['x-compatibility'] !== undefined
  )
  return (
    `<details id="${anchor(name)}"><summary><code>${escapeHtml(name)}</code></summary>` +
    (isBody ? writeMembers(schema) : `<p>${linkSchemas(schema)}</p>`) +
    `<pre>${escapeHtml(JSON.stringify(schema, null, 2))}</pre></details>`
  )
}

/** Links to the schemas that a schema refers to. */
function linkSchemas(schema: JsonSchema): string {
  return [...new Set(listReferences(schema))].map(linkSchema).join(', ')
}

function linkSchema(target: string): string {
  const name = lastSegment(target)
  return `<a href="#${anchor(name)}">${escapeHtml(name)}</a>`
}

function lastSegment(target: string): string {
  return target.slice(target.lastIndexOf('/') + 1)
}

function describeType(schema: JsonSchema): string {
  if (schema.type !== undefined) return [schema.type].flat().join(' or ')
  const branches = (schema.anyOf ?? []) as JsonSchema[]
  return [...new Set(branches.map(describeType))].filter(word => word !== '').join(' or ')
}

function anchor(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
}

/** Escapes a text and shows what stands between back quotes as code. */
function code(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>')
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
