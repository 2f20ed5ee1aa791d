// Decodes the protobuf of an OTLP trace export into plain spans.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import protobuf from 'protobufjs'

export type AttributeValue = string | number | boolean | AttributeValue[]
export type Attributes = Record<string, AttributeValue>

export interface ReceivedSpan {
  name: string
  kind: string
  traceId: string
  spanId: string
  /** Undefined for the root of a trace. */
  parentSpanId: string | undefined
  traceState: string
  startNs: bigint
  endNs: bigint
  attributes: Attributes
  events: Array<{ name: string; timeNs: bigint; attributes: Attributes }>
  links: Array<{ traceId: string; spanId: string; attributes: Attributes }>
  status: { code: string; message: string }
  resource: Attributes
  scope: string
}

interface WireValue {
  stringValue?: string
  boolValue?: boolean
  intValue?: string
  doubleValue?: number
  arrayValue?: { values: WireValue[] }
}

interface WireSpan {
  traceId: Buffer
  spanId: Buffer
  parentSpanId: Buffer
  traceState: string
  name: string
  kind: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: WireAttribute[]
  events: Array<{ timeUnixNano: string; name: string; attributes: WireAttribute[] }>
  links: Array<{ traceId: Buffer; spanId: Buffer; attributes: WireAttribute[] }>
  status?: { code: string; message: string }
}

interface WireAttribute {
  key: string
  value: WireValue
}

interface WireRequest {
  resourceSpans: Array<{
    resource: { attributes: WireAttribute[] }
    scopeSpans: Array<{ scope: { name: string }; spans: WireSpan[] }>
  }>
}

const source = readFileSync(join(import.meta.dirname, 'trace.proto'), 'utf8')
const requestType = protobuf.parse(source).root.lookupType('opentelemetry.proto.ExportTraceServiceRequest')

/** Raises when the bytes are no export request. */
export function decodeSpans(bytes: Uint8Array): ReceivedSpan[] {
  const decoded = requestType.toObject(requestType.decode(bytes), {
    longs: String,
    enums: String,
    bytes: Buffer,
    defaults: true
  }) as WireRequest
  return decoded.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) =>
      spans.map(span => readSpan(span, readAttributes(resource.attributes), scope))
    )
  )
}

function readSpan(span: WireSpan, resource: Attributes, scope: { name: string }): ReceivedSpan {
  const parent = span.parentSpanId.toString('hex')
  return {
    name: span.name,
    kind: span.kind,
    traceId: span.traceId.toString('hex'),
    spanId: span.spanId.toString('hex'),
    parentSpanId: parent === '' ? undefined : parent,
    traceState: span.traceState,
    startNs: BigInt(span.startTimeUnixNano),
    endNs: BigInt(span.endTimeUnixNano),
    attributes: readAttributes(span.attributes),
    events: span.events.map(({ name, timeUnixNano, attributes }) => ({
      name,
      timeNs: BigInt(timeUnixNano),
      attributes: readAttributes(attributes)
    })),
    links: span.links.map(({ traceId, spanId, attributes }) => ({
      traceId: traceId.toString('hex'),
      spanId: spanId.toString('hex'),
      attributes: readAttributes(attributes)
    })),
    status: { code: span.status?.code ?? 'UNSET', message: span.status?.message ?? '' },
    resource,
    scope: scope.name
  }
}

function readAttributes(attributes: readonly WireAttribute[]): Attributes {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, readValue(value)]))
}

function readValue(value: WireValue): AttributeValue {
  if (value.arrayValue != null) return value.arrayValue.values.map(readValue)
  if (value.intValue !== undefined) return Number(value.intValue)
  return value.stringValue ?? value.boolValue ?? value.doubleValue ?? ''
}
