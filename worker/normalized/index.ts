// The normalized form `gateway.normalized.v1`: the language between the client faces and the provider faces.

export type { ProviderAcceptance, RequestFeature } from './acceptance.ts'
export { findFeatureUse, pathOfMedia, requestFeatures } from './acceptance.ts'
export { assertNever } from './assert.ts'
export { CallCollector, WAITING_CHARACTERS_MAX } from './call-collector.ts'
export type * from './content.ts'
export type * from './embeddings.ts'
export type { ErrorPlace, GatewayErrorOptions } from './error.ts'
export {
  GatewayError,
  invalidRequest,
  toGatewayError,
  unsupportedSemantic
} from './error.ts'
export type { ErrorCode, ErrorKind, FamilyErrorCode } from './error-codes.ts'
export { errorDefinitions, familyErrorDefinitions } from './error-codes.ts'
export type * from './event.ts'
export type { ToolCallHead } from './event-assembler.ts'
export { EventAssembler } from './event-assembler.ts'
export type { FieldName, FieldPaths } from './field-paths.ts'
export { dropLaterCalls } from './first-call.ts'
export { findFileKind } from './generated-file.ts'
export { GrowingText } from './growing-text.ts'
export type { JsonObject, JsonValue } from './json.ts'
export {
  findInfiniteNumber,
  findJsonFault,
  hasLargeInteger,
  isJsonObject,
  isRawJson,
  isTextTooDeep,
  JSON_DEPTH_MAX,
  keepExactIntegers,
  tryParseJson,
  withoutRawJson
} from './json.ts'
export { JsonNesting } from './json-nesting.ts'
export { findNewestEntry, findNewestTurn, isUserTurn } from './newest-turn.ts'
export type * from './request.ts'
export { NORMALIZED_VERSION } from './request.ts'
export { assertBounded } from './request-bounds.ts'
export { measureRequest, type TextMeasure } from './request-texts.ts'
export type * from './response.ts'
export { accumulateEvents, countCharacters, createResponseAccumulator } from './response.ts'
export {
  beyondBound,
  ENTRY_CHARACTERS,
  FILES_MAX,
  FRAME_CHARACTERS,
  HOSTED_RUNS_MAX,
  IMAGE_BYTES_MAX,
  RESPONSE_CHARACTERS_MAX,
  TOOL_CALLS_MAX
} from './response-bounds.ts'
export type * from './state.ts'
export { createToolTurnState, findCarriedState, mergeProviderState, readProviderState } from './state.ts'
export type { StopSequenceFilter } from './stop-sequences.ts'
export { createStopSequenceFilter } from './stop-sequences.ts'
export type * from './tool.ts'
export { flattenToolName, selectCallableTools } from './tool.ts'
export { isGatewayCallId, readToolCallId, writeToolCallId } from './tool-call-id.ts'
export { joinUsage, type NormalizedUsage } from './usage.ts'
