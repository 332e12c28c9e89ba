// SPDX-License-Identifier: MIT
package conclave;

/** The lock or the leadership is not held, or not any more. */
public class LockLostException extends ConclaveException {
    private static final long serialVersionUID = 1;

    LockLostException(String message) {
        super(Kind.LOST, message);
    }
}
