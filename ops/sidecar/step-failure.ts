/** A step of the sequence that did not hold; its message is a short text without content of requests or files. */
export class StepFailure extends Error {}
