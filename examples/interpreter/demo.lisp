; What the interpreter can do.

(define (fact n) (if (< n 2) 1 (* n (fact (- n 1)))))
(fact 30)

(define (fib n)
  (let ((step 0))
    (define (go a b left)
      (if (= left 0) a (go b (+ a b) (- left 1))))
    (go 0 1 n)))
(map fib '(1 2 3 10 50 100))

; Closures over a variable that changes.
(define (account balance)
  (lambda (action amount)
    (cond ((equal? action 'deposit) (set! balance (+ balance amount)) balance)
          ((> amount balance) (error "insufficient funds:" balance))
          (else (set! balance (- balance amount)) balance))))
(define ana (account 100))
(define ben (account 10))
(ana 'deposit 50)
(ben 'withdraw 3)
(ben 'withdraw 30)
(ana 'withdraw 150)

; Sorting and primes.
(define (quicksort xs)
  (if (null? xs)
      '()
      (let ((pivot (car xs)) (rest (cdr xs)))
        (append (quicksort (filter (lambda (x) (< x pivot)) rest))
                (list pivot)
                (quicksort (filter (lambda (x) (>= x pivot)) rest))))))
(quicksort '(31 4 15 9 26 5 35 8 9 79))

(define (range from to) (if (>= from to) '() (cons from (range (+ from 1) to))))
(define (prime? n)
  (define (none-from d)
    (cond ((> (* d d) n) #t)
          ((= (modulo n d) 0) #f)
          (else (none-from (+ d 1)))))
  (and (> n 1) (none-from 2)))
(filter prime? (range 0 60))

; A loop of ten thousand rounds does not grow the stack.
(define (sum-to n acc) (if (= n 0) acc (sum-to (- n 1) (+ acc n))))
(sum-to 10000 0)

; The towers of Hanoi, counted and shown.
(define moves 0)
(define (hanoi n from to via)
  (if (> n 0)
      (begin
        (hanoi (- n 1) from via to)
        (set! moves (+ moves 1))
        (if (<= n 2) (display n ":" from "->" to))
        (hanoi (- n 1) via to from))))
(hanoi 3 "left" "right" "middle")
moves

; Functions that make functions.
(define (compose f g) (lambda (x) (f (g x))))
(define inc (lambda (x) (+ x 1)))
((compose inc (compose inc inc)) 39)
(fold (lambda (acc f) (f acc)) 1 (list inc inc (lambda (x) (* x 10))))

; A little symbolic differentiation.
(define (d e)
  (cond ((number? e) 0)
        ((equal? e 'x) 1)
        ((equal? (car e) '+) (list '+ (d (car (cdr e))) (d (car (cdr (cdr e))))))
        ((equal? (car e) '*)
         (let ((a (car (cdr e))) (b (car (cdr (cdr e)))))
           (list '+ (list '* a (d b)) (list '* (d a) b))))
        (else (error "cannot differentiate" e))))
(d '(+ (* x x) (* 3 x)))
(d '(sin x))

; Errors do not end the session.
(undefined-name 1)
(car '())
(fact "ten")
(string-append "still " "here")
